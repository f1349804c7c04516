import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { convert } from "./index.ts";

const ALPHA = "addon.open-cluster-management.io/v1alpha1";
const BETA = "addon.open-cluster-management.io/v1beta1";
const KUBE_CLIENT = "kubernetes.io/kube-apiserver-client";

function converted(object: DynamicObject, apiVersion: string): DynamicObject {
  const request = { uid: "1", desiredAPIVersion: apiVersion, objects: [object] };
  const { response } = convert({ apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview", request });
  expect(response).toMatchObject({ uid: "1", result: { status: "Success" } });
  const [first] = response?.convertedObjects ?? [];
  if (!first) throw new Error("nothing was converted");
  return first;
}

const addOn = (apiVersion: string, rest: Record<string, unknown>): DynamicObject => {
  return { apiVersion, kind: "ManagedClusterAddOn", metadata: { name: "a", namespace: "cluster1" }, spec: {}, ...rest };
};
const offer = (apiVersion: string, rest: Record<string, unknown>): DynamicObject => {
  return { apiVersion, kind: "ClusterManagementAddOn", metadata: { name: "a" }, spec: {}, ...rest };
};

describe("a ManagedClusterAddOn", () => {
  it("says in an annotation of v1beta1 which namespace it is installed in, and in v1alpha1 in a field", () => {
    const alpha = addOn(ALPHA, { spec: { installNamespace: "mine", configs: [{ resource: "x", name: "y" }] } });
    const beta = converted(alpha, BETA);
    expect(beta.spec).toEqual({ configs: [{ resource: "x", name: "y" }] });
    expect(beta.metadata.annotations).toEqual({
      "addon.open-cluster-management.io/v1alpha1-install-namespace": "mine",
    });
    expect(converted(beta, ALPHA)).toEqual(alpha);
  });

  it("registers at the hub as kubeClient in v1beta1, with the driver beside it", () => {
    const alpha = addOn(ALPHA, {
      status: {
        kubeClientDriver: "token",
        registrations: [
          { signerName: KUBE_CLIENT, subject: { user: "u", groups: ["g"] } },
          { signerName: "example.com/signer", subject: { user: "v", organizationUnit: ["o"] } },
        ],
      },
    });
    const beta = converted(alpha, BETA);
    expect(beta.status).toEqual({
      registrations: [
        { type: "kubeClient", kubeClient: { subject: { user: "u", groups: ["g"] }, driver: "token" } },
        {
          type: "customSigner",
          customSigner: { signerName: "example.com/signer", subject: { user: "v", organizationUnits: ["o"] } },
        },
      ],
    });
    expect(beta.metadata.annotations).toBeUndefined();
    expect(converted(beta, ALPHA)).toEqual(alpha);
  });

  it("names a configuration twice in v1alpha1 and once in v1beta1", () => {
    const desiredConfig = { name: "c", namespace: "n", specHash: "h" };
    const beta = addOn(BETA, { status: { configReferences: [{ group: "g", resource: "r", desiredConfig }] } });
    const alpha = converted(beta, ALPHA);
    expect(alpha.status).toEqual({
      configReferences: [{ group: "g", resource: "r", desiredConfig, name: "c", namespace: "n" }],
    });
    expect(converted(alpha, BETA)).toEqual(beta);
  });

  it("keeps what v1beta1 has no field for, even when somebody changes the rest there", () => {
    const alpha = addOn(ALPHA, { status: { addOnConfiguration: { crdName: "c" } } });
    const beta = converted(alpha, BETA);
    expect(beta.status).toEqual({});
    const edited = { ...beta, status: { conditions: [{ type: "Available" }] } };
    expect(converted(edited, ALPHA).status).toEqual({
      addOnConfiguration: { crdName: "c" },
      conditions: [{ type: "Available" }],
    });
  });

  it("takes the word of who changed a field in the other version", () => {
    const alpha = addOn(ALPHA, {
      status: {
        registrations: [{ signerName: KUBE_CLIENT, subject: { user: "u", organizationUnit: ["lost in v1beta1"] } }],
      },
    });
    const beta = converted(alpha, BETA);
    const edited = {
      ...beta,
      status: { registrations: [{ type: "kubeClient", kubeClient: { subject: { user: "w" } } }] },
    };
    expect(converted(edited, ALPHA).status).toEqual({
      registrations: [{ signerName: KUBE_CLIENT, subject: { user: "w" } }],
    });
  });

  it("is not led astray by an annotation that somebody else wrote", () => {
    const annotations = { "conversion.capstan.dev/v1alpha1": '{"status.addOnConfiguration":7}' };
    const beta = addOn(BETA, { metadata: { name: "a", namespace: "cluster1", annotations } });
    expect(converted(beta, ALPHA)).toEqual(addOn(ALPHA, {}));
  });
});

describe("a ClusterManagementAddOn", () => {
  it("has a name in v1beta1 that stands for a configuration without a default", () => {
    const alpha = offer(ALPHA, {
      spec: {
        supportedConfigs: [
          { group: "g", resource: "r" },
          { group: "g", resource: "s", defaultConfig: { name: "n", namespace: "ns" } },
        ],
      },
      status: { defaultconfigReferences: [{ group: "g", resource: "s" }] },
    });
    const beta = converted(alpha, BETA);
    expect(beta.spec).toEqual({
      defaultConfigs: [
        { group: "g", resource: "r", name: "__reserved_no_default__" },
        { group: "g", resource: "s", name: "n", namespace: "ns" },
      ],
    });
    expect(beta.status).toEqual({ defaultConfigReferences: [{ group: "g", resource: "s" }] });
    expect(converted(beta, ALPHA)).toEqual(alpha);
  });
});

describe("whatever an object says", () => {
  const text = fc.constantFrom("a", "b", "");
  const record = <T>(shape: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(shape, { requiredKeys: [] });
  const configuration = { group: text, resource: text };
  /** What the schema requires is there. */
  const named = (shape: Record<string, fc.Arbitrary<unknown>>) =>
    fc.record({ ...shape, name: text, namespace: text }, { requiredKeys: ["name"] });
  const hash = named({ specHash: text });
  const referent = named({});
  const subject = { user: text, groups: fc.array(text, { maxLength: 2 }) };
  const units = fc.array(text, { maxLength: 2 });
  const driver = fc.constantFrom("csr", "token");
  const signer = fc.constantFrom(KUBE_CLIENT, "example.com/a");
  const old = record({ crdName: text, crName: text });
  const progressions = fc.array(record({ name: text, configReferences: fc.array(record(configuration)) }), {
    maxLength: 2,
  });

  const objects = {
    "ManagedClusterAddOn in v1alpha1": fc
      .record({
        spec: record({ installNamespace: fc.constantFrom("x", "y"), configs: fc.array(record(configuration)) }),
        status: record({
          kubeClientDriver: driver,
          addOnConfiguration: old,
          registrations: fc.array(
            fc.record(
              { signerName: signer, subject: record({ ...subject, organizationUnit: units }) },
              { requiredKeys: ["signerName"] },
            ),
            { maxLength: 3 },
          ),
          configReferences: fc.array(
            fc.record(
              { ...configuration, name: text, namespace: text, desiredConfig: hash },
              { requiredKeys: ["resource", "name"] },
            ),
            { maxLength: 3 },
          ),
        }),
      })
      .map((rest) => addOn(ALPHA, rest)),
    "ManagedClusterAddOn in v1beta1": fc
      .record({
        status: record({
          registrations: fc.array(
            fc.record(
              {
                type: fc.constantFrom("kubeClient", "customSigner"),
                kubeClient: record({ driver, subject: record(subject) }),
                customSigner: fc.record(
                  { signerName: signer, subject: record({ ...subject, organizationUnits: units }) },
                  { requiredKeys: ["signerName"] },
                ),
              },
              { requiredKeys: ["type"] },
            ),
            { maxLength: 3 },
          ),
          configReferences: fc.array(record({ ...configuration, desiredConfig: hash }), { maxLength: 3 }),
        }),
      })
      .map((rest) => addOn(BETA, rest)),
    "ClusterManagementAddOn in v1alpha1": fc
      .record({
        spec: record({
          addOnConfiguration: old,
          supportedConfigs: fc.array(record({ ...configuration, defaultConfig: referent })),
        }),
        status: record({ defaultconfigReferences: fc.array(record(configuration)), installProgressions: progressions }),
      })
      .map((rest) => offer(ALPHA, rest)),
    "ClusterManagementAddOn in v1beta1": fc
      .record({
        spec: record({ defaultConfigs: fc.array(named({ ...configuration })) }),
        status: record({ defaultConfigReferences: fc.array(record(configuration)), installProgressions: progressions }),
      })
      .map((rest) => offer(BETA, rest)),
  };

  it.each(Object.entries(objects))("%s comes back as it went", (_, arbitrary) => {
    fc.assert(
      fc.property(arbitrary, (object) => {
        const other = object.apiVersion === ALPHA ? BETA : ALPHA;
        const there = converted(object, other);
        expect(there.apiVersion).toBe(other);
        expect(converted(there, object.apiVersion)).toEqual(object);
        // And again, because what a server stored is shown many times.
        expect(converted(converted(there, object.apiVersion), other)).toEqual(there);
      }),
    );
  });
});

describe("a review", () => {
  const ask = (objects: DynamicObject[], desiredAPIVersion: string) =>
    convert({
      apiVersion: "apiextensions.k8s.io/v1beta1",
      kind: "ConversionReview",
      request: { uid: "7", desiredAPIVersion, objects },
    });

  it("is answered in its own version, and in the order of its objects", () => {
    const answer = ask([offer(ALPHA, {}), offer(BETA, {})], BETA);
    expect(answer.apiVersion).toBe("apiextensions.k8s.io/v1beta1");
    expect(answer.response?.convertedObjects).toEqual([offer(BETA, {}), offer(BETA, {})]);
  });

  it("fails as a whole when one object cannot be converted, and says which and why", () => {
    const stranger = { ...offer(ALPHA, {}), kind: "Gadget" };
    expect(ask([offer(ALPHA, {}), stranger], BETA).response).toEqual({
      uid: "7",
      result: {
        status: "Failure",
        message: `Gadget in ${ALPHA} cannot be converted to ${BETA}`,
      },
    });
  });
});
