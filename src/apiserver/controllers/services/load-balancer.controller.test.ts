import { describe, expect, it } from "vitest";
import type { Service } from "#api/core";
import type { Stored } from "../workloads/stored.ts";
import { loadBalancerController, loopbackAddress } from "./load-balancer.controller.ts";
import { SERVICES } from "./selection.ts";
import { type Ground, ground, ports } from "./testing/behind.ts";

const start = () => ground((parts) => [loadBalancerController(parts)]);
const balanced = { type: "LoadBalancer", ports };
const ingressOf = (here: Ground, name = "web") =>
  (here.get(SERVICES, `default/${name}`) as Stored<Service> | undefined)?.status?.loadBalancer?.ingress;

describe("Services of type LoadBalancer", () => {
  it("get an address on this machine, and nothing is written the second time", async () => {
    const here = await start();
    await here.service("web", balanced);
    await here.service("shop", balanced);
    const [web, shop] = [ingressOf(here), ingressOf(here, "shop")];
    expect(web).toEqual([{ ip: expect.stringMatching(/^127\.(1[2-9]\d|2\d\d)\.\d+\.\d+$/), ipMode: "VIP" }]);
    expect(shop?.[0]?.ip).not.toBe(web?.[0]?.ip);
    expect(await here.lookAgain()).toBe(0);
  });

  it("keep the address through updates, and get the same again when somebody takes it away", async () => {
    const here = await start();
    await here.service("web", balanced);
    const before = ingressOf(here);
    const edit = (spec: object) =>
      here.change(SERVICES, "default/web", (draft) => ({ ...draft, spec: { ...(draft.spec as object), ...spec } }));
    await edit({ ports: [{ port: 81 }] });
    await here.change(SERVICES, "default/web", (draft) => ({ ...draft, status: { loadBalancer: {} } }), "status");
    await here.settle();
    expect(ingressOf(here)).toEqual(before);
  });

  it("lose it when they become of another type", async () => {
    const here = await start();
    await here.service("web", balanced);
    await here.change(SERVICES, "default/web", (draft) => ({ ...draft, spec: { type: "ClusterIP", ports } }));
    await here.settle();
    expect(ingressOf(here)).toBeUndefined();
  });

  it("are left to others who are asked for by a class, or were quicker", async () => {
    const here = await start();
    await here.service("classy", { ...balanced, loadBalancerClass: "example.com/own" });
    expect(ingressOf(here, "classy")).toBeUndefined();
    await here.service("plain", { ports });
    expect(ingressOf(here, "plain")).toBeUndefined();
    await here.service("web", balanced);
    const theirs = [{ ip: "192.0.2.1", ipMode: "VIP" as const }];
    await here.change(
      SERVICES,
      "default/web",
      (draft) => ({ ...draft, status: { loadBalancer: { ingress: theirs } } }),
      "status",
    );
    await here.settle();
    expect(ingressOf(here)).toEqual(theirs);
  });

  it("share no address, though the one that follows from their uid may be taken", () => {
    const first = loopbackAddress("uid", new Set());
    expect(loopbackAddress("uid", new Set())).toBe(first);
    expect(loopbackAddress("uid", new Set([first]))).not.toBe(first);
  });
});
