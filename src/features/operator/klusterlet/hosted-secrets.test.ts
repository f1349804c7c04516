import { describe, expect, it } from "vitest";
import { type Secret, ServiceAccount } from "#api/core";
import { parseKubeconfig } from "#kube";
import { fakeCluster } from "../../../../test/support/index.ts";
import { hostedSecrets } from "./hosted-secrets.ts";
import { isRefused, type KlusterletWish, wishOf } from "./wish.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
const HOUR = 3_600_000;

function wished(): KlusterletWish {
  const spec = { namespace: "open-cluster-management-m", deployOption: { mode: "Hosted" } };
  const wish = wishOf({ apiVersion: "", kind: "", metadata: { name: "k", uid: "u" }, spec });
  if (isRefused(wish)) throw new Error(wish.refusal);
  return wish;
}

/** As a server would make it, good for so many hours from `iat` on. */
function token(iat: Date, hours: number, serial = 0): string {
  const seconds = iat.getTime() / 1000;
  const claims = { iat: seconds, exp: seconds + hours * 3600, jti: String(serial) };
  return `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`;
}

class Stage {
  asked = 0;
  now = NOW;
  stored = new Map<string, Secret>();
  readonly managed = fakeCluster(
    {
      name: "managed",
      createSub: (async () => ({ status: { token: token(this.now, 24, ++this.asked) } })) as never,
    },
    [ServiceAccount],
  );

  account(name: string, uid = name): void {
    this.managed.put(ServiceAccount, { metadata: { namespace: "open-cluster-management-m", name, uid } });
  }

  async secrets() {
    const made = await hostedSecrets(wished(), {
      managed: this.managed,
      connection: { server: "https://managed:6443", ca: "-----BEGIN CERTIFICATE-----", token: "administrator" },
      account: async (key) => this.managed.read(ServiceAccount, key),
      existing: async (key) => this.stored.get(key),
      now: this.now,
      signal: AbortSignal.timeout(5_000),
    });
    for (const object of made.objects as unknown as Secret[]) {
      this.stored.set(`${object.metadata.namespace}/${object.metadata.name}`, object);
    }
    return made;
  }

  text(key: string, name = "external-managed-kubeconfig-registration"): string {
    return Buffer.from(this.stored.get(`k/${name}`)?.data?.[key] ?? "", "base64").toString();
  }
}

function readyStage(): Stage {
  const stage = new Stage();
  stage.account("k-registration-sa");
  stage.account("k-work-sa");
  return stage;
}

describe("the Secrets of hosted agents", () => {
  it("lead to the managed cluster as the agent's account, and hold nothing of the administrator", async () => {
    const stage = readyStage();
    const { objects, isIncomplete } = await stage.secrets();
    expect(objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual([
      "k/external-managed-kubeconfig-registration",
      "k/external-managed-kubeconfig-work",
    ]);
    expect(isIncomplete).toBe(false);
    const { clusters, users } = parseKubeconfig(stage.text("kubeconfig"), "/spoke/config/kubeconfig");
    expect(clusters[0]?.server).toBe("https://managed:6443");
    expect(users).toMatchObject([{ tokenFile: "/spoke/config/token" }]);
    expect(JSON.stringify([...stage.stored.values()])).not.toContain(Buffer.from("administrator").toString("base64"));
    expect(stage.text("serviceaccount_name")).toBe("k-registration-sa");
    expect(stage.text("expiration")).toBe("2026-01-02T00:00:00Z");
  });

  it("ask for a token once, and again when a fifth of its life is left", async () => {
    const stage = readyStage();
    const { renewIn } = await stage.secrets();
    expect(renewIn).toBe(24 * HOUR * 0.8);
    await stage.secrets();
    expect(stage.asked).toBe(2);
    stage.now = new Date(NOW.getTime() + renewIn);
    await stage.secrets();
    expect(stage.asked).toBe(4);
  });

  it("are made anew for another account of the same name, because the old token died with its account", async () => {
    const stage = readyStage();
    await stage.secrets();
    stage.account("k-registration-sa", "another");
    await stage.secrets();
    expect(stage.asked).toBe(3);
    expect(stage.text("serviceaccount_uid")).toBe("another");
  });

  it("wait for accounts that are not there yet", async () => {
    const stage = new Stage();
    stage.account("k-work-sa");
    const { objects, isIncomplete } = await stage.secrets();
    expect(isIncomplete).toBe(true);
    expect(objects).toHaveLength(1);
  });
});
