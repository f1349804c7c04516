import { describe, expect, it } from "vitest";
import type { IstioGateway, IstioServer, KnativeServingSpec, Kourier } from "#api/knative";
import { configMap, containerOf, podOf, service, serving, thing, workload } from "./testing/objects.ts";

describe("[spec.controller-custom-certs.type] [spec.controller-custom-certs.name] are trusted by the controller", () => {
  const certs = (type: string, name: string): KnativeServingSpec => ({ "controller-custom-certs": { type, name } });
  const containers = [
    { name: "controller", env: [{ name: "A", value: "1" }], volumeMounts: [{ name: "v" }] },
    { name: "other" },
  ];
  const before = workload("controller", { containers, pod: { volumes: [{ name: "v" }] } });

  it.each([
    ["ConfigMap", { configMap: { name: "mine" } }],
    ["Secret", { secret: { secretName: "mine" } }],
  ])("mount a %s into the first container of the controller", (type, source) => {
    const [object] = serving(certs(type, "mine"), [before]);
    expect(podOf(object).volumes).toEqual([{ name: "v" }, { name: "custom-certs-mine", ...source }]);
    expect(containerOf(object)).toMatchObject({
      env: [
        { name: "A", value: "1" },
        { name: "SSL_CERT_DIR", value: "/custom-certs" },
      ],
      volumeMounts: [{ name: "v" }, { name: "custom-certs-mine", mountPath: "/custom-certs" }],
    });
    expect(containerOf(object, 1)).toEqual({ name: "other" });
  });

  it.each([
    ["File", "mine", "unknown CustomCerts type: File"],
    ["Secret", "", "the CustomCerts name for Secret is required"],
  ])("of type %j called %j are a mistake: %s", (type, name, problem) => {
    expect(() => serving(certs(type, name), [before])).toThrow(problem);
  });

  it("are for the controller only, and nothing where nothing is said", () => {
    expect(podOf(serving(certs("Secret", "mine"), [workload("webhook")])[0])).not.toHaveProperty("volumes");
    expect(podOf(serving(certs("", ""), [workload("controller")])[0])).not.toHaveProperty("volumes");
  });
});

const gateway = (name: string, apiVersion = "networking.istio.io/v1beta1") =>
  thing(apiVersion, "Gateway", name, {
    spec: { selector: { istio: "ingressgateway" }, servers: [{ port: { number: 80 } }] },
  });
const istio = (name: "knative-ingress-gateway" | "knative-local-gateway", wishes: IstioGateway) => ({
  ingress: { istio: { enabled: true, [name]: wishes } },
});

describe("Istio's gateways", () => {
  const wishes = {
    selector: { istio: "mine" },
    servers: [{ port: { number: 8081, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
  };

  it.each<[string, "knative-ingress-gateway" | "knative-local-gateway", string, string]>([
    [
      "[spec.ingress.istio.knative-ingress-gateway.selector] replaces the selector",
      "knative-ingress-gateway",
      "knative-ingress-gateway",
      "v1beta1",
    ],
    [
      "[spec.ingress.istio.knative-local-gateway.selector] replaces the selector",
      "knative-local-gateway",
      "knative-local-gateway",
      "v1beta1",
    ],
    [
      "[spec.ingress.istio.knative-local-gateway.servers] reaches the older name too",
      "knative-local-gateway",
      "cluster-local-gateway",
      "v1beta1",
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers] reaches an older version too",
      "knative-ingress-gateway",
      "knative-ingress-gateway",
      "v1alpha3",
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers] reaches a newer version too",
      "knative-ingress-gateway",
      "knative-ingress-gateway",
      "v1",
    ],
  ])("%s", (_, field, name, version) => {
    const [object] = serving(istio(field, wishes), [gateway(name, `networking.istio.io/${version}`)]);
    expect(object).toMatchObject({ apiVersion: `networking.istio.io/${version}`, spec: wishes });
  });

  it("stay as they are where nothing is said, of another gateway, or by another system", () => {
    const objects = [
      gateway("knative-local-gateway"),
      gateway("other"),
      gateway("knative-ingress-gateway", "gateway.networking.k8s.io/v1"),
    ];
    expect(serving(istio("knative-ingress-gateway", wishes), objects).map(({ spec }) => spec)).toEqual(
      objects.map(({ spec }) => spec),
    );
    expect(
      serving(istio("knative-local-gateway", { selector: {}, servers: [] }), objects).map(({ spec }) => spec),
    ).toEqual(objects.map(({ spec }) => spec));
  });

  it("are left alone where Istio is not the ingress", () => {
    const spec = {
      ingress: { istio: { enabled: false, "knative-local-gateway": wishes }, kourier: { enabled: true } },
    };
    expect(serving(spec, [gateway("knative-local-gateway")])[0]).toMatchObject({
      spec: { selector: { istio: "ingressgateway" } },
    });
  });

  const server = (wish: IstioServer) => {
    const [object] = serving(istio("knative-ingress-gateway", { servers: [wish] }), [
      gateway("knative-ingress-gateway"),
    ]);
    const { servers } = (object?.spec ?? {}) as { servers: object[] };
    return servers[0];
  };

  it.each<[string, IstioServer, object]>([
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.hosts] is passed on",
      { hosts: ["a", "b"] },
      { hosts: ["a", "b"] },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.bind] is passed on",
      { bind: "1.2.3.4" },
      { bind: "1.2.3.4" },
    ],
    ["[spec.ingress.istio.knative-ingress-gateway.servers.name] is passed on", { name: "n" }, { name: "n" }],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.defaultEndpoint] is passed on",
      { defaultEndpoint: "unix:///x" },
      { defaultEndpoint: "unix:///x" },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.port.name] is passed on",
      { port: { name: "n" } },
      { port: { name: "n" } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.port.number] is passed on",
      { port: { number: 80 } },
      { port: { number: 80 } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.port.protocol] is passed on",
      { port: { protocol: "HTTP" } },
      { port: { protocol: "HTTP" } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.port.target_port] is spelled as Istio spells it",
      { port: { target_port: 80 } },
      { port: { targetPort: 80 } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.mode] is PASSTHROUGH unless told",
      { tls: {} },
      { tls: { mode: "PASSTHROUGH" } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.mode] is passed on",
      { tls: { mode: "ISTIO_MUTUAL" } },
      { tls: { mode: "ISTIO_MUTUAL" } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.httpsRedirect] is passed on",
      { tls: { httpsRedirect: true } },
      { tls: { mode: "PASSTHROUGH", httpsRedirect: true } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.serverCertificate] is passed on",
      { tls: { serverCertificate: "x" } },
      { tls: { mode: "PASSTHROUGH", serverCertificate: "x" } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.privateKey] is passed on",
      { tls: { privateKey: "/etc/key" } },
      { tls: { mode: "PASSTHROUGH", privateKey: "/etc/key" } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.caCertificates] is passed on",
      { tls: { caCertificates: "x" } },
      { tls: { mode: "PASSTHROUGH", caCertificates: "x" } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.credentialName] is passed on",
      { tls: { credentialName: "x" } },
      { tls: { mode: "PASSTHROUGH", credentialName: "x" } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.subjectAltNames] is passed on",
      { tls: { subjectAltNames: ["x"] } },
      { tls: { mode: "PASSTHROUGH", subjectAltNames: ["x"] } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.verifyCertificateSpki] is passed on",
      { tls: { verifyCertificateSpki: ["x"] } },
      { tls: { mode: "PASSTHROUGH", verifyCertificateSpki: ["x"] } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.verifyCertificateHash] is passed on",
      { tls: { verifyCertificateHash: ["x"] } },
      { tls: { mode: "PASSTHROUGH", verifyCertificateHash: ["x"] } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.cipherSuites] is passed on",
      { tls: { cipherSuites: ["x"] } },
      { tls: { mode: "PASSTHROUGH", cipherSuites: ["x"] } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.minProtocolVersion] is spelled as Istio spells it",
      { tls: { minProtocolVersion: 3 } },
      { tls: { mode: "PASSTHROUGH", minProtocolVersion: "TLSV1_2" } },
    ],
    [
      "[spec.ingress.istio.knative-ingress-gateway.servers.tls.maxProtocolVersion] is spelled as Istio spells it",
      { tls: { maxProtocolVersion: 4 } },
      { tls: { mode: "PASSTHROUGH", maxProtocolVersion: "TLSV1_3" } },
    ],
  ])("%s", (_, wish, passed) => {
    expect(server(wish)).toEqual(passed);
  });

  it("know five versions of TLS", () => {
    expect(() => server({ tls: { minProtocolVersion: 5 } })).toThrow(
      "gateway knative-ingress-gateway: 5 is no version of TLS",
    );
  });
});

describe("the Services before Istio's gateways", () => {
  const local = service("knative-local-gateway", { selector: { istio: "ingressgateway" } });
  const place = (config: Record<string, Record<string, string>>) => serving({ config }, [local])[0]?.metadata;
  const listed = (namespace: string) =>
    `- name: other\n  namespace: x\n- name: knative-local-gateway\n  namespace: ${namespace}\n  service: s\n`;
  const legacy = (namespace: string) => ({
    "local-gateway.knative.knative-local-gateway": `knative-local-gateway.${namespace}.svc.cluster.local`,
  });

  it("lie beside Istio, where nothing of ours can own them", () => {
    expect(place({})).toEqual({
      name: "knative-local-gateway",
      namespace: "istio-system",
      labels: { "app.kubernetes.io/name": "knative-serving" },
    });
  });

  it.each<[Record<string, Record<string, string>>, string, string]>([
    [{ istio: { "local-gateways": listed("mesh") } }, "mesh", "the newer form"],
    [{ "config-istio": { "local-gateways": listed("mesh") } }, "mesh", "the longer name"],
    [{ istio: legacy("mesh") }, "mesh", "the older form"],
    [{ istio: { ...legacy("old"), "local-gateways": listed("new") } }, "new", "both forms"],
    [{ istio: legacy("short"), "config-istio": legacy("long") }, "long", "both names"],
    [{ istio: legacy("short"), "config-istio": {} }, "short", "both names, of which one says nothing"],
    [{ istio: { "local-gateways": "[broken" } }, "istio-system", "what cannot be read"],
    [{ istio: { "local-gateways": "- name: other\n" } }, "istio-system", "a list without it"],
    [{ istio: { "local-gateway.other.knative-local-gateway": "a.b.c" } }, "istio-system", "another namespace's entry"],
    [
      { istio: { "local-gateway.knative.knative-local-gateway": "nodots" } },
      "istio-system",
      "an entry without a namespace",
    ],
  ])("[spec.config] %j puts it into %s: %s", (config, namespace) => {
    expect(place(config)?.namespace).toBe(namespace);
  });

  it("select what the gateways select", () => {
    const mine = { selector: { istio: "mine" } };
    const spec = (object: ReturnType<typeof service>, name: "knative-ingress-gateway" | "knative-local-gateway") =>
      serving(istio(name, mine), [object])[0]?.spec;
    expect(spec(local, "knative-local-gateway")).toEqual(mine);
    expect(spec(service("knative-ingress-gateway", { selector: { a: "b" } }), "knative-ingress-gateway")).toEqual(mine);
    expect(spec(local, "knative-ingress-gateway")).toEqual({ selector: { istio: "ingressgateway" } });
  });
});

describe("Kourier", () => {
  const kourier = (wishes: Kourier, objects: ReturnType<typeof service>[]) =>
    serving({ ingress: { kourier: { enabled: true, ...wishes } } }, objects);
  const ports = [
    { name: "http2", port: 80 },
    { name: "https", port: 443 },
  ];
  const gatewayService = (type?: string) => service("kourier", { ...(type && { type }), ports });
  const shaped = (wishes: Kourier, type?: string) => kourier(wishes, [gatewayService(type)])[0]?.spec;

  it.each(["net-kourier-controller", "3scale-kourier-control"])("%s knows where the gateway is", (name) => {
    const env = [
      { name: "KOURIER_GATEWAY_NAMESPACE", value: "kourier-system" },
      { name: "OTHER", value: "x" },
    ];
    const [object] = kourier({}, [workload(name, { containers: [{ name: "c", env }, { name: "d" }] })]);
    expect(containerOf(object).env).toEqual([
      { name: "KOURIER_GATEWAY_NAMESPACE", value: "knative" },
      { name: "OTHER", value: "x" },
    ]);
    expect(containerOf(object, 1)).toEqual({ name: "d" });
  });

  it("starts with the namespace that it is in, whatever that is called", () => {
    const data = {
      "envoy-bootstrap.yaml": "address: net-kourier-controller.knative-serving\nother: knative-serving",
      other: "knative-serving",
    };
    const [map] = serving({ ingress: { kourier: { enabled: true } } }, [configMap("kourier-bootstrap", data)], {
      installNamespace: "a$&b",
    });
    expect(map?.data).toEqual({
      "envoy-bootstrap.yaml": "address: net-kourier-controller.a$&b\nother: a$&b",
      other: "knative-serving",
    });
  });

  it.each(["ClusterIP", "LoadBalancer", "NodePort"])(
    "[spec.ingress.kourier.service-type] may be one of three: %s",
    (type) => {
      expect(shaped({ "service-type": type })).toMatchObject({ type, ports });
    },
  );

  it.each<[Kourier, string]>([
    [{ "service-type": "ExternalName" }, 'unsupported service type "ExternalName"'],
    [{ "service-type": "Foo" }, 'unknown service type "Foo"'],
    [
      { "service-load-balancer-ip": "1.2.3.4", "service-type": "NodePort" },
      'cannot configure LoadBalancerIP for service type "NodePort"',
    ],
    [{ "http-port": 30_080 }, 'cannot configure HTTP(S)Port for service type "ClusterIP"'],
    [
      { "https-port": 30_443, "service-type": "LoadBalancer" },
      'cannot configure HTTP(S)Port for service type "LoadBalancer"',
    ],
  ])("%j is a mistake: %s", (wishes, problem) => {
    expect(() => shaped(wishes)).toThrow(problem);
  });

  it("[spec.ingress.kourier.service-load-balancer-ip] is for a LoadBalancer, by wish or by release", () => {
    expect(shaped({ "service-load-balancer-ip": "1.2.3.4" }, "LoadBalancer")).toMatchObject({
      loadBalancerIP: "1.2.3.4",
    });
  });

  it("[spec.ingress.kourier.http-port] [spec.ingress.kourier.https-port] are the ports of the nodes", () => {
    expect(shaped({ "service-type": "NodePort", "http-port": 30_080, "https-port": 30_443 })).toMatchObject({
      ports: [
        { name: "http2", nodePort: 30_080 },
        { name: "https", nodePort: 30_443 },
      ],
    });
    expect(shaped({ "service-type": "NodePort", "https-port": 30_443 })).toMatchObject({
      ports: [
        { name: "http2", port: 80 },
        { name: "https", nodePort: 30_443 },
      ],
    });
  });

  it("[spec.ingress.kourier.bootstrap-configmap] takes the place of the release's", () => {
    const volumes = [
      { name: "v", configMap: { name: "kourier-bootstrap" } },
      { name: "certs", secret: {} },
      { name: "o", configMap: { name: "other" } },
    ];
    const before = workload("3scale-kourier-gateway", { pod: { volumes } });
    expect(podOf(kourier({ "bootstrap-configmap": "mine" }, [before])[0]).volumes).toEqual([
      { name: "v", configMap: { name: "mine" } },
      ...volumes.slice(1),
    ]);
    expect(podOf(kourier({}, [before])[0]).volumes).toEqual(volumes);
  });

  it("is left alone where it is not the ingress", () => {
    expect(serving({ ingress: { kourier: { "service-type": "NodePort" } } }, [gatewayService()])[0]?.spec).toEqual({
      ports,
    });
  });
});

describe("the security guard", () => {
  const features = configMap("config-features", { a: "1" });

  it("[spec.security.securityGuard.enabled] lets the queue proxy know its Pod", () => {
    const [map, other] = serving({ security: { securityGuard: { enabled: true } } }, [features, configMap("config-x")]);
    expect(map?.data).toEqual({ a: "1", "queueproxy.mount-podinfo": "allowed" });
    expect(other).not.toHaveProperty("data");
  });

  it("is not there unless it is enabled", () => {
    expect(serving({ security: { securityGuard: { enabled: false } } }, [features])[0]?.data).toEqual({ a: "1" });
    expect(serving({}, [features])[0]?.data).toEqual({ a: "1" });
  });
});
