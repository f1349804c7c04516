import { describe, expect, it } from "vitest";
import { CelError, createEnvironment } from "../index.ts";

const env = createEnvironment();

const TRUE: Readonly<Record<string, readonly string[]>> = {
  lists: [
    "[1, 2, 3].isSorted() && !['b', 'a'].isSorted() && [1, 2, 3].sum() == 6 && [1.5, 2.5].sum() == 4.0",
    "[duration('1h'), duration('1m')].sum() == duration('61m') && [].sum() == 0",
    "[3, 1, 2].min() == 1 && ['a', 'c'].max() == 'c'",
    "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(2) == -1",
    "[1, 2, 3, 4].slice(1, 3) == [2, 3] && [[1], [2, 3]].flatten() == [1, 2, 3] && [1, [2, [3]]].flatten(2) == [1, 2, 3]",
    "[1, 2, 1, 1.0].map(v, dyn(v)).distinct() == [dyn(1), dyn(2)] && [3, 1, 2].sort() == [1, 2, 3] && [1, 2].reverse() == [2, 1]",
    "lists.range(3) == [0, 1, 2] && ['bb', 'a'].sortBy(s, size(s)) == ['a', 'bb'] && [1, 2].first().value() == 1",
    "[].last() == optional.none()",
  ],
  sets: [
    "sets.contains([1, 2, 3], [2, 3]) && !sets.contains([1], [2]) && sets.contains([], [])",
    "sets.equivalent([1, 2, 2], [2, 1]) && sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [])",
  ],
  math: [
    "math.greatest(1, 3, 2) == 3 && math.least(1.5, 0.5) == 0.5 && math.greatest([1, 5]) == 5 && math.greatest(7) == 7",
    "math.greatest(1, 2.5) == 2.5 && math.least(-1, 2u) == -1",
    "math.ceil(1.2) == 2.0 && math.floor(-1.2) == -2.0 && math.round(-1.5) == -2.0 && math.trunc(-1.7) == -1.0",
    "math.abs(-5) == 5 && math.sign(-2.0) == -1.0 && math.isNaN(0.0 / 0.0) && math.isInf(1.0 / 0.0)",
    "math.bitAnd(6, 3) == 2 && math.bitOr(6, 3) == 7 && math.bitXor(6, 3) == 5 && math.bitNot(0) == -1",
    "math.bitShiftLeft(1, 3) == 8 && math.bitShiftRight(-1, 60) == 15 && math.sqrt(16) == 4.0",
  ],
  encoders: [
    "base64.encode(b'hello') == 'aGVsbG8=' && base64.decode('aGVsbG8=') == b'hello' && base64.decode('aGVsbG8') == b'hello'",
  ],
  regex: [
    "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]+') == '' && 'a1b2'.findAll('[0-9]') == ['1', '2']",
    "'a1b2c3'.findAll('[0-9]', 2) == ['1', '2']",
  ],
  url: [
    "url('https://user@example.com:80/a b?k=v&k=w+x#f').getHost() == 'example.com:80'",
    "url('https://example.com:80/').getHostname() == 'example.com' && url('https://[::1]:80/').getHostname() == '::1'",
    "url('https://example.com:80/').getPort() == '80' && url('https://example.com/').getPort() == ''",
    "url('https://example.com/a b').getEscapedPath() == '/a%20b' && url('HTTPS://e/').getScheme() == 'https'",
    "url('https://e/?k=v&k=w+x').getQuery()['k'] == ['v', 'w x'] && isURL('/path') && !isURL('nope') && !isURL('../x')",
    "url('https://e/') == url('https://e/')",
  ],
  ip: [
    "isIP('127.0.0.1') && isIP('::1') && !isIP('1.2.3') && !isIP('fe80::1%eth0') && !isIP('::ffff:1.2.3.4') && !isIP('01.2.3.4')",
    "ip('127.0.0.1').family() == 4 && ip('::1').family() == 6 && ip('127.0.0.1').isLoopback() && ip('::').isUnspecified()",
    "ip('224.0.0.1').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()",
    "ip('8.8.8.8').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast() && ip('10.0.0.1').isGlobalUnicast()",
    "ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8::1') && string(ip('2001:db8:0:0:0:0:0:1')) == '2001:db8::1'",
    "ip('::1') == ip('0:0:0:0:0:0:0:1') && type(ip('::1')) == net.IP",
    "cidr('192.168.0.0/16').containsIP('192.168.1.1') && !cidr('192.168.0.0/16').containsIP(ip('10.0.0.1'))",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
    "cidr('::/64').prefixLength() == 64 && string(cidr('10.0.0.0/8')) == '10.0.0.0/8' && !isCIDR('10.0.0.0/33') && isCIDR('::/0')",
  ],
  quantity: [
    "isQuantity('1.5Gi') && isQuantity('500m') && !isQuantity('1Kib') && !isQuantity('Mi') && isQuantity('1e3')",
    "quantity('1Gi').asInteger() == 1073741824 && quantity('1.5k').asInteger() == 1500 && quantity('500m').asApproximateFloat() == 0.5",
    "quantity('1') == quantity('1000m') && quantity('1Ki').isGreaterThan(quantity('1k')) && quantity('-1').sign() == -1",
    "quantity('50M').add(quantity('20M')) == quantity('70M') && quantity('50M').sub(20000000) == quantity('30M')",
    "quantity('1').compareTo(quantity('2')) == -1 && quantity('1').isLessThan(quantity('1.5')) && !quantity('0.5').isInteger()",
  ],
  semver: [
    "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3",
    "isSemver('1.2.3-alpha.1+build') && !isSemver('v1.2.3') && isSemver('v1.2', true) && !isSemver('01.2.3')",
    "semver('1.2.3-alpha').isLessThan(semver('1.2.3')) && semver('1.10.0').isGreaterThan(semver('1.9.0'))",
    "semver('1.0.0-alpha.1').compareTo(semver('1.0.0-alpha.beta')) == -1 && semver('v1', true) == semver('1.0.0')",
  ],
  formats: [
    "!format.dns1123Label().validate('my-name').hasValue() && format.dns1123Label().validate('My_Name').hasValue()",
    "format.named('uuid').hasValue() && !format.named('nope').hasValue()",
    "format.named('datetime').value().validate('2026-01-01T00:00:00Z') == optional.none()",
    "format.dns1123LabelPrefix().validate('name-') == optional.none() && format.date().validate('2026-02-30').hasValue()",
  ],
};

describe.each(Object.entries(TRUE))("%s", (_, expressions) => {
  it.each(expressions)("%s", (source) => {
    expect(env.compile(source).evaluate()).toBe(true);
  });
});

describe("libraries refuse", () => {
  it.each([
    "[].min()",
    "ip('nope')",
    "cidr('10.0.0.0/99')",
    "quantity('1.5').asInteger()",
    "quantity('many')",
    "semver('1.2')",
    "url('nope')",
    "base64.decode('*')",
    "[1].slice(0, 2)",
    "lists.range(100000000)",
    "math.bitShiftLeft(1, -1)",
  ])("%s", (source) => {
    expect(() => env.compile(source).evaluate()).toThrow(CelError);
  });
});
