import { expect, it } from "vitest";
import { kubeconfigFor, kubeconfigText } from "#kube";
import { generateKeyPair } from "#lib/pki";
import { Canary } from "../support/canary.ts";

const TOKEN = "eyJhbGciOi.a-token-that-nobody-may-know";

it("the canary finds a token in a log line, whatever stands around it", () => {
  const canary = new Canary();
  canary.learn("the token", TOKEN);
  canary.log("a program").debug("connects", { error: new Error(`GET / with Bearer ${TOKEN} failed`) });
  expect(canary.leaks()).toEqual(["a program tells the token"]);
});

it("the canary finds a key by any of its lines, and a token in base64", () => {
  const canary = new Canary();
  const { privateKey } = generateKeyPair();
  canary.learn("a key", privateKey);
  canary.learn("the token", TOKEN);
  canary.hear("a condition", `bad: ${privateKey.split("\n")[1]}`);
  canary.hear("an object", Buffer.from(TOKEN).toString("base64"));
  expect(canary.leaks()).toEqual(["a condition tells a key", "an object tells the token"]);
});

it("the canary knows what of a kubeconfig is secret, and what is not", () => {
  const canary = new Canary();
  const text = kubeconfigText(kubeconfigFor({ name: "hub", server: "https://hub:6443", token: TOKEN }));
  canary.learnKubeconfig("a kubeconfig", text);
  canary.hear("a line", "cannot reach https://hub:6443");
  expect(canary.leaks()).toEqual([]);
  canary.hear("a file", text);
  expect(canary.leaks()).toEqual(["a file tells the token in a kubeconfig"]);
});
