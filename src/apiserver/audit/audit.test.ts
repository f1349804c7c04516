import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { type AuditEvent, type AuditedRequest, auditEvent, createAuditLog } from "./index.ts";
import { maskedUri } from "./masked-uri.ts";
import { RotatingFile } from "./rotating-file.ts";

const NOW = new Date("2026-01-01T00:00:01.500Z");
const alice = { username: "alice", groups: ["system:authenticated"] };
const bob = { username: "bob", groups: ["system:authenticated"] };

function request(more: Partial<AuditedRequest> = {}): AuditedRequest {
  return {
    auditId: "id-1",
    receivedAt: new Date("2026-01-01T00:00:01Z"),
    uri: "/api/v1/namespaces/default/pods/web",
    verb: "get",
    caller: alice,
    user: alice,
    ...more,
  };
}

describe("an audit event", () => {
  it("tells who did what to which object, when, and whether it was allowed", () => {
    const event = auditEvent(
      request({
        sourceIp: "127.0.0.1",
        userAgent: "kubectl/v1.33",
        object: {
          group: "apps",
          version: "v1",
          resource: "deployments",
          subresource: "scale",
          namespace: "a",
          name: "b",
        },
        decision: { allowed: true, reason: "RBAC: allowed by something" },
        code: 200,
      }),
      "ResponseComplete",
      NOW,
    );
    expect(event).toEqual({
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "Metadata",
      auditID: "id-1",
      stage: "ResponseComplete",
      requestURI: "/api/v1/namespaces/default/pods/web",
      verb: "get",
      user: alice,
      sourceIPs: ["127.0.0.1"],
      userAgent: "kubectl/v1.33",
      objectRef: {
        resource: "deployments",
        namespace: "a",
        name: "b",
        apiGroup: "apps",
        apiVersion: "v1",
        subresource: "scale",
      },
      responseStatus: { metadata: {}, code: 200 },
      requestReceivedTimestamp: "2026-01-01T00:00:01.000000Z",
      stageTimestamp: "2026-01-01T00:00:01.500000Z",
      annotations: {
        "authorization.k8s.io/decision": "allow",
        "authorization.k8s.io/reason": "RBAC: allowed by something",
      },
    });
  });

  it("names both the caller and whom the caller acts as", () => {
    const { user, impersonatedUser } = auditEvent(request({ user: bob }), "ResponseComplete", NOW);
    expect([user, impersonatedUser]).toEqual([alice, bob]);
  });

  it("has an empty user when nobody was recognised", () => {
    expect(auditEvent(request({ caller: undefined, user: undefined }), "ResponseComplete", NOW).user).toEqual({});
  });

  it.each([
    [403, "pods is forbidden", true],
    [409, "already exists", true],
    [422, 'data: Invalid value: "hunter2"', false],
    [400, "cannot read hunter2", false],
    [500, "hunter2", false],
  ])("of a %i quotes the message %j: %s, because some texts quote bodies", (code, message, quoted) => {
    const failure = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Why", message, code } as const;
    const { responseStatus } = auditEvent(
      request({ code, failure: { ...failure, metadata: {} } }),
      "ResponseComplete",
      NOW,
    );
    expect(responseStatus).toEqual({
      metadata: {},
      status: "Failure",
      reason: "Why",
      ...(quoted && { message }),
      code,
    });
  });

  it("shortens what a client can make as long as it likes", () => {
    const event = auditEvent(
      request({ userAgent: "x".repeat(9000), uri: `/${"y".repeat(9000)}` }),
      "ResponseComplete",
      NOW,
    );
    expect(event.userAgent?.length).toBeLessThan(1100);
    expect(event.requestURI.length).toBeLessThan(4200);
  });
});

describe("the URI in an event", () => {
  it.each([
    ["/api/v1/pods", "/api/v1/pods"],
    ["/api/v1/pods?limit=5&continue=abc", "/api/v1/pods?limit=5&continue=abc"],
    ["/x?access_token=abc&limit=5", "/x?access_token=REDACTED&limit=5"],
    ["/x?a=1&Token=abc=def", "/x?a=1&Token=REDACTED"],
    ["/x?t%6Fken=abc", "/x?t%6Fken=REDACTED"],
    ["/x?client-secret=abc&password=", "/x?client-secret=REDACTED&password=REDACTED"],
    ["/x?%zz=1&token", "/x?%zz=1&token"],
  ])("%s becomes %s", (uri, masked) => {
    expect(maskedUri(uri)).toBe(masked);
  });
});

describe("the audit log", () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "capstan-audit-"));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const numbered = (number: number): AuditEvent =>
    auditEvent(request({ auditId: String(number) }), "ResponseComplete", NOW);
  const idsIn = async (path: string): Promise<string[]> =>
    (await readFile(path, "utf8"))
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as AuditEvent).auditID);

  it("remembers the latest events and forgets the rest", () => {
    const audit = createAuditLog({ clock: new ManualClock(), log: silentLog, remembered: 3 });
    expect(audit.recent()).toEqual([]);
    for (const number of [1, 2]) audit.record(numbered(number));
    expect(audit.recent().map(({ auditID }) => auditID)).toEqual(["1", "2"]);
    for (const number of [3, 4, 5]) audit.record(numbered(number));
    expect(audit.recent().map(({ auditID }) => auditID)).toEqual(["3", "4", "5"]);
  });

  it("writes one line per event, in batches, and the last one when it closes", async () => {
    const clock = new ManualClock();
    const path = join(dir, "audit.log");
    const audit = createAuditLog({ clock, log: silentLog, path });
    audit.record(numbered(1));
    clock.advance(1000);
    audit.record(numbered(2));
    await audit.close();
    expect(await idsIn(path)).toEqual(["1", "2"]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("goes on when it cannot write, because requests matter more than their log", async () => {
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (text: string) => void warnings.push(text) };
    const audit = createAuditLog({ clock: new ManualClock(), log, path: join(dir, "missing", "audit.log") });
    audit.record(numbered(1));
    await audit.close();
    expect(warnings).toEqual(["audit events were lost, because they could not be written"]);
    expect(audit.recent()).toHaveLength(1);
  });

  it("starts a new file when one is full and keeps the one before", async () => {
    const path = join(dir, "audit.log");
    const file = new RotatingFile(path, 10);
    for (const text of ["first\n", "2nd\n", "third\n", "fourth\n"]) await file.append(text);
    expect(await readFile(path, "utf8")).toBe("fourth\n");
    expect(await readFile(`${path}.1`, "utf8")).toBe("third\n");
  });

  it("goes on where it stopped before", async () => {
    const path = join(dir, "audit.log");
    await writeFile(path, "12345678\n", { mode: 0o644 });
    const file = new RotatingFile(path, 10);
    await file.append("next\n");
    expect(await readFile(`${path}.1`, "utf8")).toBe("12345678\n");
    expect((await stat(`${path}.1`)).mode & 0o777).toBe(0o600);
  });
});
