import { describe, expect, it } from "vitest";
import type { Node, Pod } from "#api/core";
import { thrown } from "../../../test/support/thrown.ts";
import { ApiError } from "../errors.ts";
import { logOptions } from "./log-options.ts";
import { addressOf, containerNamed } from "./log-source.ts";
import { refusalOf } from "./node-answers.ts";

describe("what a log may be asked for", () => {
  const read = (query: string) => logOptions("p", new URLSearchParams(query));

  it.each<[query: string, forwarded: string]>([
    ["", ""],
    ["follow=true&container=web", "follow=true"],
    ["previous=1&timestamps=true", "previous=true&timestamps=true"],
    ["follow=false&tailLines=5&limitBytes=10", "tailLines=5&limitBytes=10"],
    ["sinceSeconds=3", "sinceSeconds=3"],
    ["sinceTime=2026-01-01T00:00:00Z", "sinceTime=2026-01-01T00%3A00%3A00Z"],
    ["somethingElse=1", ""],
  ])("%j goes on as %j", (query, forwarded) => {
    expect(String(read(query).forwarded)).toBe(forwarded);
  });

  it("says which container, and whether any certificate will do", () => {
    expect(read("container=web&insecureSkipTLSVerifyBackend=true")).toMatchObject({ container: "web", insecure: true });
    expect(read("")).toMatchObject({ container: "", insecure: false });
  });

  it.each<[query: string, field: string]>([
    ["tailLines=-1", "tailLines"],
    ["limitBytes=0", "limitBytes"],
    ["sinceSeconds=0", "sinceSeconds"],
    ["sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", ""],
    ["stream=Stdout", "stream"],
  ])("%j is invalid", (query, field) => {
    const { code, status } = thrown(ApiError, () => read(query));
    expect([code, status.reason, status.details?.kind]).toEqual([422, "Invalid", "PodLogOptions"]);
    expect(status.details?.causes?.map((cause) => cause.field)).toEqual([field]);
  });

  it.each(["tailLines=x", "sinceTime=yesterday"])("%j cannot be read", (query) => {
    expect(thrown(ApiError, () => read(query)).code).toBe(400);
  });
});

describe("the container that is meant", () => {
  const pod = (...names: string[]): Pod => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: names.map((name) => ({ name })), initContainers: [{ name: "init" }] },
  });

  it("need not be named where there is only one", () => {
    expect(containerNamed(pod("web"), "")).toBe("web");
    expect(containerNamed(pod("web"), "init")).toBe("init");
  });

  it.each<[message: string, Pod, wanted: string]>([
    ["a container name must be specified for pod p, choose one of: [init a b]", pod("a", "b"), ""],
    ["container c is not valid for pod p", pod("a", "b"), "c"],
  ])("%s", (message, given, wanted) => {
    const error = thrown(ApiError, () => containerNamed(given, wanted));
    expect([error.code, error.message]).toEqual([400, message]);
  });
});

describe("where a node answers", () => {
  const node = (status: NonNullable<Node["status"]>): Node => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n" },
    status,
  });
  const address = (type: string, text: string) => ({ type, address: text });

  it("is its address inside, on the port that it names", () => {
    const addresses = [address("Hostname", "n"), address("ExternalIP", "192.0.2.1"), address("InternalIP", "10.0.0.1")];
    const daemonEndpoints = { kubeletEndpoint: { Port: 4321 } };
    expect(addressOf(node({ addresses, daemonEndpoints }))).toEqual({ host: "10.0.0.1", port: 4321 });
    expect(addressOf(node({ addresses: [address("Hostname", "n")] }))).toEqual({ host: "n", port: 10250 });
  });

  it("is nowhere when it has no address", () => {
    expect(thrown(ApiError, () => addressOf(node({}))).message).toBe(
      "no preferred addresses found; known addresses: []",
    );
  });
});

describe("the refusal of a node", () => {
  it.each<[code: number, text: string, reason: string | undefined, message: string]>([
    [400, "container is waiting", "BadRequest", "container is waiting"],
    [404, "pod does not exist", "NotFound", "the server could not find the requested resource ( pods/log p)"],
    [401, "x", "Unauthorized", "the server has asked for the client to provide credentials ( pods/log p)"],
    [403, "no", "Forbidden", "no ( pods/log p)"],
    [500, "broken", "InternalError", "Internal error occurred: broken"],
    [
      418,
      "x",
      undefined,
      "the server responded with the status code 418 but did not return more information ( pods/log p)",
    ],
  ])("%d", (code, text, reason, message) => {
    const { status } = refusalOf("p", code, text);
    expect([status.code, status.reason, status.message]).toEqual([code, reason, message]);
  });
});
