import { describe, expect, it } from "vitest";
import type { EndpointSubset } from "#api/core";
import { countAddresses, MOST_ADDRESSES, repacked, truncated } from "./subsets.ts";

const http = { name: "http", port: 80, protocol: "TCP" };
const https = { name: "https", port: 443, protocol: "TCP" };
const at = (ip: string, uid?: string) => ({ ip, ...(uid && { targetRef: { uid } }) });
const many = (count: number, from = 0) => Array.from({ length: count }, (_, index) => at(`10.0.0.${from + index}`));

describe("subsets of addresses", () => {
  const rows: [why: string, subsets: EndpointSubset[], expected: EndpointSubset[]][] = [
    [
      "the same addresses offer all their ports together",
      [
        { addresses: [at("2"), at("1")], ports: [https] },
        { addresses: [at("1")], ports: [http] },
        { addresses: [at("2")], ports: [http] },
      ],
      [{ addresses: [at("1"), at("2")], ports: [http, https] }],
    ],
    [
      "addresses that offer less are apart",
      [
        { addresses: [at("1"), at("2")], ports: [http] },
        { addresses: [at("1")], ports: [https] },
      ],
      [
        { addresses: [at("1"), at("2")], ports: [http] },
        { addresses: [at("1")], ports: [https] },
      ],
    ],
    [
      "what is somewhere called not ready is not ready",
      [
        { addresses: [at("1")], ports: [http] },
        { notReadyAddresses: [at("1")], ports: [http] },
      ],
      [{ notReadyAddresses: [at("1")], ports: [http] }],
    ],
    [
      "two Pods may share an address",
      [{ addresses: [at("1", "b"), at("1", "a"), at("1", "a")], ports: [http] }],
      [{ addresses: [at("1", "a"), at("1", "b")], ports: [http] }],
    ],
    ["addresses without ports stay", [{ addresses: [at("1")] }], [{ addresses: [at("1")] }]],
    ["nothing stays nothing", [{ ports: [http] }], [{ ports: [http] }]],
  ];
  it.each(rows)("%s", (_, subsets, expected) => {
    const inOrder = (list: EndpointSubset[]) =>
      list.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    expect(repacked(subsets)).toEqual(inOrder(expected));
    expect(repacked(repacked(subsets))).toEqual(repacked(subsets));
  });

  it("are cut in proportion when there are too many, the ready ones before the others", () => {
    const cut = truncated([
      { addresses: many(1500), notReadyAddresses: many(10, 2000), ports: [http] },
      { addresses: many(500, 3000), ports: [https] },
      { notReadyAddresses: many(5, 4000), ports: [https] },
    ]);
    expect(
      cut.map(({ addresses = [], notReadyAddresses = [] }) => [addresses.length, notReadyAddresses.length]),
    ).toEqual([
      [750, 0],
      [250, 0],
    ]);
    const unready = truncated([{ addresses: many(400), notReadyAddresses: many(900, 1000), ports: [http] }]);
    expect([unready[0]?.addresses?.length, unready[0]?.notReadyAddresses?.length]).toEqual([400, 600]);
    expect(countAddresses(unready)).toBe(MOST_ADDRESSES);
  });
});
