import { describe, expect, it } from "vitest";
import { KubeconfigError, kubeconfigFor, kubeconfigText } from "../index.ts";
import { defaultConnection } from "./default.ts";

const text = (name: string) => kubeconfigText(kubeconfigFor({ name, server: `https://${name}:6443`, token: "t" }));

/** Files by path; all others are not there. */
function filesOf(files: Record<string, string>) {
  return async (path: string) => {
    const found = files[path];
    if (found === undefined) throw Object.assign(new Error(`no such file ${path}`), { code: "ENOENT" });
    return found;
  };
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const read = filesOf({
  "/named": text("named"),
  "/listed": text("listed"),
  "/home/.kube/config": text("home"),
  [`${SERVICE_ACCOUNT}/ca.crt`]: "ca",
  [`${SERVICE_ACCOUNT}/namespace`]: "fleet",
  [`${SERVICE_ACCOUNT}/token`]: "pod",
});
const pod = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };
const listed = { KUBECONFIG: "/listed" };

describe("the usual cluster", () => {
  it.each([
    [
      "the file that the user named, whatever else there is",
      { kubeconfig: "/named", env: { ...listed, ...pod } },
      "named",
    ],
    ["KUBECONFIG, even in a Pod", { env: { ...listed, ...pod } }, "listed"],
    ["the Pod's own, where there is no KUBECONFIG", { env: { ...pod, KUBECONFIG: "" } }, "10.0.0.1"],
    ["kubectl's default file, outside of Pods", { env: {} }, "home"],
    ["that of a context, which no Pod has", { env: pod, context: "home" }, "home"],
  ])("is %s", async (_, options, host) => {
    const connection = await defaultConnection({ ...options, home: "/home", read });
    expect(new URL(connection.server).hostname).toBe(host);
  });

  it("is not guessed where there is none", async () => {
    const nothing = defaultConnection({ env: {}, home: "/nobody", read });
    await expect(nothing).rejects.toThrow(KubeconfigError);
    await expect(nothing).rejects.toThrow("name one, or set KUBECONFIG");
  });
});
