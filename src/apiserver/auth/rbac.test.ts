import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import type { UserInfo } from "../resource.ts";
import { aggregatedRules } from "./aggregation.ts";
import type { Attributes } from "./attributes.ts";
import { bootstrapPolicy } from "./bootstrap-policy.ts";
import { allow, allowPaths } from "./default-rules.ts";
import { checkBindingWrite, checkRoleWrite, rulesCover } from "./escalation.ts";
import { MemoryReader } from "./memory-reader.ts";
import { accessDenied, forbiddenMessage } from "./messages.ts";
import { Stored } from "./object-reader.ts";
import { type PolicyRule, RBAC_VERSION, writtenRule } from "./policy.ts";
import { createRbacAuthorizer, rulesReviewStatus } from "./rbac.ts";
import { ruleAllows } from "./rule-match.ts";
import { ANONYMOUS, splitServiceAccountName } from "./users.ts";

const alice: UserInfo = { username: "alice", groups: ["devs", "system:authenticated"] };
const root: UserInfo = { username: "root", groups: ["system:masters", "system:authenticated"] };
const agent: UserInfo = { username: "system:serviceaccount:fleet:agent", groups: ["system:serviceaccounts"] };

function role(name: string, rules: readonly PolicyRule[], namespace?: string): DynamicObject {
  const metadata = { name, ...(namespace !== undefined && { namespace }) };
  return {
    apiVersion: RBAC_VERSION,
    kind: namespace === undefined ? "ClusterRole" : "Role",
    metadata,
    rules: rules.map(writtenRule),
  };
}

interface BindingDraft {
  name?: string;
  namespace?: string;
  role: string;
  roleKind?: string;
  subjects: unknown;
}

function binding({ name = "b", namespace, role: to, roleKind = "ClusterRole", subjects }: BindingDraft): DynamicObject {
  return {
    apiVersion: RBAC_VERSION,
    kind: namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    subjects,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: roleKind, name: to },
  };
}

const toAlice = [{ kind: "User", name: "alice" }];
const readPods = (user: UserInfo, namespace?: string): Attributes => {
  return { user, verb: "get", group: "", resource: "pods", namespace };
};

const RESOURCES: Readonly<Record<string, string>> = {
  ClusterRole: Stored.clusterRoles,
  ClusterRoleBinding: Stored.clusterRoleBindings,
  Role: Stored.roles,
  RoleBinding: Stored.roleBindings,
};

function scene(...objects: readonly DynamicObject[]) {
  const reader = new MemoryReader();
  const put = (object: DynamicObject) => reader.put(RESOURCES[object.kind] ?? "", object);
  objects.forEach(put);
  return { reader, put, authorizer: createRbacAuthorizer({ reader }) };
}

describe("a rule", () => {
  const on = (resource: string, more: Partial<Attributes> = {}): Attributes => {
    const [plural = "", subresource] = resource.split("/");
    return { user: alice, verb: "get", group: "", resource: plural, subresource, ...more } as Attributes;
  };
  const at = (path: string, verb = "get"): Attributes => ({ user: alice, verb, path });

  it.each<[string, PolicyRule, Attributes, boolean]>([
    ["allows its verb", allow("get", "core", "pods"), on("pods"), true],
    ["allows no other verb: watch is not list", allow("list", "core", "pods"), on("pods", { verb: "watch" }), false],
    ["allows all verbs with a star", allow("*", "core", "pods"), on("pods", { verb: "deletecollection" }), true],
    ["keeps to its group", allow("get", "apps", "pods"), on("pods"), false],
    ["allows all groups with a star", allow("get", "*", "pods"), on("pods", { group: "apps" }), true],
    ["does not allow subresources with the resource", allow("get", "core", "pods"), on("pods/log"), false],
    ["does not allow the resource with a subresource", allow("get", "core", "pods/log"), on("pods"), false],
    ["allows one subresource", allow("get", "core", "pods/log"), on("pods/log"), true],
    ["allows a subresource of everything", allow("get", "core", "*/scale"), on("deployments/scale"), true],
    ["allows that subresource only", allow("get", "core", "*/scale"), on("deployments/status"), false],
    ["allows all resources with a star, subresources too", allow("get", "core", "*"), on("pods/log"), true],
    ["knows no star after the slash", allow("get", "core", "pods/*"), on("pods/log"), false],
    ["keeps to its names", allow("get", "core", "pods", "a b"), on("pods", { name: "c" }), false],
    ["allows what it names", allow("get", "core", "pods", "a b"), on("pods", { name: "b" }), true],
    ["with names allows no list", allow("list", "core", "pods", "a"), on("pods", { verb: "list" }), false],
    [
      "with names allows no create",
      allow("create", "core", "pods", "a"),
      on("pods", { verb: "create", name: "" }),
      false,
    ],
    ["for resources says nothing about paths", allow("*", "*", "*"), at("/version"), false],
    ["allows its path", allowPaths("get", "/version"), at("/version"), true],
    ["allows no path below it", allowPaths("get", "/version"), at("/version/x"), false],
    ["allows what begins like it", allowPaths("get", "/apis/*"), at("/apis/apps"), true],
    ["does not allow what it begins with", allowPaths("get", "/apis/*"), at("/apis"), false],
    ["takes several stars for one", allowPaths("get", "/apis/***"), at("/apis/apps"), true],
    ["allows all paths with a star", allowPaths("*", "*"), at("/metrics", "post"), true],
    ["for paths says nothing about resources", allowPaths("*", "*"), on("pods"), false],
  ])("%s", (_, rule, attributes, allowed) => {
    expect(ruleAllows(rule, attributes)).toBe(allowed);
  });
});

describe("the authorizer", () => {
  const reader = role("reader", [allow("get", "core", "pods")]);

  it("allows everything to masters, without any policy", () => {
    const { authorizer } = scene();
    expect(authorizer.authorize(readPods(root))).toEqual({ allowed: true, reason: "" });
  });

  it("allows nothing that no binding grants", () => {
    expect(scene(reader).authorizer.authorize(readPods(alice))).toEqual({ allowed: false, reason: "" });
  });

  it.each([
    ["a user", alice, toAlice, 'ClusterRoleBinding "b" of ClusterRole "reader" to User "alice"'],
    [
      "a group",
      alice,
      [{ kind: "Group", name: "devs" }],
      'ClusterRoleBinding "b" of ClusterRole "reader" to Group "devs"',
    ],
    [
      "a service account",
      agent,
      [{ kind: "ServiceAccount", name: "agent", namespace: "fleet" }],
      'ClusterRoleBinding "b" of ClusterRole "reader" to ServiceAccount "agent/fleet"',
    ],
  ])("finds a binding of %s and says which one allows it", (_, user, subjects, source) => {
    const { authorizer } = scene(reader, binding({ role: "reader", subjects }));
    expect(authorizer.authorize(readPods(user))).toEqual({ allowed: true, reason: `RBAC: allowed by ${source}` });
    expect(authorizer.authorize(readPods(user, "anywhere")).allowed).toBe(true);
  });

  it("keeps a role binding within its namespace", () => {
    const { authorizer } = scene(reader, binding({ namespace: "fleet", role: "reader", subjects: toAlice }));
    expect(authorizer.authorize(readPods(alice, "fleet"))).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "b/fleet" of ClusterRole "reader" to User "alice"',
    });
    expect(authorizer.authorize(readPods(alice, "other")).allowed).toBe(false);
    expect(authorizer.authorize(readPods(alice)).allowed).toBe(false);
    expect(authorizer.authorize({ user: alice, verb: "get", path: "/" }).allowed).toBe(false);
  });

  it("takes a service account without namespace for one of the binding's", () => {
    const subjects = [{ kind: "ServiceAccount", name: "agent" }];
    const { authorizer } = scene(
      role("local", [allow("get", "core", "pods")], "fleet"),
      binding({ namespace: "fleet", role: "local", roleKind: "Role", subjects }),
      binding({ name: "nowhere", role: "reader", subjects }),
    );
    expect(authorizer.authorize(readPods(agent, "fleet")).allowed).toBe(true);
    expect(authorizer.authorize(readPods(agent)).allowed).toBe(false);
  });

  it("does not take a user for a group, nor a name with slashes for another place", () => {
    const subjects = [{ kind: "Group", name: "alice" }];
    const { authorizer } = scene(reader, binding({ namespace: "fleet", role: "reader", subjects }));
    expect(authorizer.authorize(readPods(alice, "fleet")).allowed).toBe(false);
    const trickster = { username: "x", groups: ["Group/alice", "fleet/Group/alice"] };
    expect(authorizer.authorize(readPods(trickster, "fleet")).allowed).toBe(false);
    expect(authorizer.authorize(readPods(trickster)).allowed).toBe(false);
  });

  it("follows what is written", () => {
    const { authorizer, put, reader: store } = scene();
    const allowed = () => authorizer.authorize(readPods(alice)).allowed;

    put(binding({ role: "reader", subjects: toAlice }));
    expect(authorizer.authorize(readPods(alice))).toEqual({
      allowed: false,
      reason: 'RBAC: clusterrole.rbac.authorization.k8s.io "reader" not found',
    });
    put(reader);
    expect(allowed()).toBe(true);
    put(role("reader", []));
    expect(allowed()).toBe(false);
    put(reader);
    put(binding({ role: "reader", subjects: [{ kind: "User", name: "bob" }] }));
    expect(allowed()).toBe(false);
    put(binding({ role: "reader", subjects: toAlice }));
    expect(allowed()).toBe(true);
    store.remove(Stored.clusterRoleBindings, "b");
    expect(allowed()).toBe(false);
  });

  it("names every role that it misses", () => {
    const { authorizer } = scene(
      binding({ name: "a", role: "two", subjects: toAlice }),
      binding({ name: "b", role: "one", subjects: toAlice }),
    );
    expect(authorizer.authorize(readPods(alice)).reason).toBe(
      'RBAC: [clusterrole.rbac.authorization.k8s.io "one" not found, clusterrole.rbac.authorization.k8s.io "two" not found]',
    );
  });

  it.each([
    ["null", null],
    ["a text", "alice"],
    ["nonsense", [null, 1, {}, { kind: "User" }, { kind: ["User"], name: {} }]],
  ])("survives subjects that are %s", (_, subjects) => {
    const { authorizer } = scene(reader, binding({ role: "reader", subjects }));
    expect(authorizer.authorize(readPods(alice)).allowed).toBe(false);
  });

  it("stops following when it is closed", () => {
    const { authorizer, put } = scene(reader);
    authorizer.close();
    put(binding({ role: "reader", subjects: toAlice }));
    expect(authorizer.authorize(readPods(alice)).allowed).toBe(false);
  });

  it("lists each binding's rules once, however often it names the user", () => {
    const subjects = [...toAlice, { kind: "Group", name: "devs" }];
    const { authorizer } = scene(
      reader,
      role("local", [allow("list", "core", "pods")], "fleet"),
      binding({ role: "reader", subjects }),
      binding({ namespace: "fleet", role: "local", roleKind: "Role", subjects: toAlice }),
    );
    expect(authorizer.rulesFor(alice, "").map(writtenRule)).toEqual([
      { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
    ]);
    expect(authorizer.rulesFor(alice, "fleet").map(({ verbs }) => verbs)).toEqual([["get"], ["list"]]);
  });
});

describe("the default policy", () => {
  const { authorizer } = scene(...bootstrapPolicy());
  const named = (name: string) => bootstrapPolicy().find((object) => object.metadata.name === name);

  it("marks everything as its own", () => {
    for (const { metadata } of bootstrapPolicy()) {
      expect(metadata.labels).toMatchObject({ "kubernetes.io/bootstrapping": "rbac-defaults" });
      expect(metadata.annotations).toEqual({ "rbac.authorization.kubernetes.io/autoupdate": "true" });
    }
  });

  it("binds only roles that it has", () => {
    const keys = new Set(bootstrapPolicy().map(({ kind, metadata }) => `${kind}/${metadata.name}`));
    for (const { roleRef } of bootstrapPolicy() as (DynamicObject & { roleRef?: { kind: string; name: string } })[]) {
      if (roleRef) expect(keys).toContain(`${roleRef.kind}/${roleRef.name}`);
    }
    expect(keys.size).toBe(bootstrapPolicy().length);
  });

  it("lets everybody who is known ask about himself and look around", () => {
    expect(rulesReviewStatus(authorizer.rulesFor(alice, "default"))).toEqual({
      resourceRules: [
        {
          verbs: ["create"],
          apiGroups: ["authorization.k8s.io"],
          resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        },
        { verbs: ["create"], apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"] },
      ],
      nonResourceRules: [
        {
          verbs: ["get"],
          nonResourceURLs: [
            "/api",
            "/api/*",
            "/apis",
            "/apis/*",
            "/healthz",
            "/livez",
            "/openapi",
            "/openapi/*",
            "/readyz",
            "/version",
            "/version/",
          ],
        },
        { verbs: ["get"], nonResourceURLs: ["/healthz", "/livez", "/readyz", "/version", "/version/"] },
      ],
      incomplete: false,
    });
  });

  it.each([
    ["/healthz", true],
    ["/version", true],
    ["/apis", false],
    ["/metrics", false],
  ])("lets nobody in particular get %s: %s", (path, allowed) => {
    expect(authorizer.authorize({ user: ANONYMOUS, verb: "get", path }).allowed).toBe(allowed);
  });

  it("fills edit with view, and admin with both", () => {
    const { authorizer: granted } = scene(
      ...bootstrapPolicy(),
      ...["view", "edit", "admin"].map((name) => {
        return binding({ name, namespace: name, role: name, subjects: toAlice });
      }),
    );
    const may = (namespace: string, verb: string, group: string, resource: string) => {
      return granted.authorize({ user: alice, verb, group, resource, namespace }).allowed;
    };
    expect(["view", "edit", "admin"].map((name) => may(name, "list", "apps", "deployments"))).toEqual([
      true,
      true,
      true,
    ]);
    expect(["view", "edit", "admin"].map((name) => may(name, "get", "", "secrets"))).toEqual([false, true, true]);
    expect(["view", "edit", "admin"].map((name) => may(name, "create", "rbac.authorization.k8s.io", "roles"))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it("is left as it is by the controller that aggregates", () => {
    const roles = bootstrapPolicy().filter(({ kind }) => kind === "ClusterRole");
    for (const name of ["view", "edit", "admin"]) {
      const aggregated = named(name);
      expect(aggregated?.rules).toEqual(aggregated && aggregatedRules(aggregated, roles)?.map(writtenRule));
    }
  });

  it("is made anew for every caller", () => {
    expect(bootstrapPolicy()[0]).not.toBe(bootstrapPolicy()[0]);
    expect(bootstrapPolicy()[0]?.metadata.labels).not.toBe(bootstrapPolicy()[0]?.metadata.labels);
  });
});

describe("aggregation", () => {
  const labelled = (name: string, labels: Record<string, string>, rules: PolicyRule[]): DynamicObject => {
    const plain = role(name, rules);
    return { ...plain, metadata: { ...plain.metadata, labels } };
  };
  const gathering: DynamicObject = {
    ...labelled("all", { x: "1" }, [allow("get", "core", "old")]),
    aggregationRule: {
      clusterRoleSelectors: [{ matchLabels: { x: "1" } }, { matchExpressions: [{ key: "y", operator: "Exists" }] }],
    },
  };

  it("gathers in order of names, every rule once, and nothing of its own", () => {
    const roles = [
      labelled("c", { y: "" }, [allow("get", "core", "pods"), allow("get", "core", "services")]),
      labelled("b", { x: "1" }, [allow("get", "core", "pods")]),
      labelled("a", { x: "1" }, [allow("get", "core", "nodes")]),
      labelled("z", { x: "2" }, [allow("get", "core", "secrets")]),
      gathering,
    ];
    expect(aggregatedRules(gathering, roles)?.flatMap(({ resources }) => resources)).toEqual([
      "nodes",
      "pods",
      "services",
    ]);
  });

  it("leaves roles alone that gather nothing", () => {
    expect(aggregatedRules(role("plain", [allow("get", "core", "pods")]), [])).toBeUndefined();
  });
});

describe("rulesCover", () => {
  it.each<[string, PolicyRule[], PolicyRule[], number]>([
    ["nothing is wanted", [], [], 0],
    ["the same is held", [allow("get", "core", "pods")], [allow("get", "core", "pods")], 0],
    [
      "it is held in parts",
      [allow("get", "core", "pods"), allow("list", "core", "pods")],
      [allow("get list", "core", "pods")],
      0,
    ],
    ["everything is held", [allow("*", "*", "*")], [allow("get", "apps", "deployments/scale", "a")], 0],
    [
      "a star is wanted and all verbs are held one by one",
      [allow("read write", "core", "pods")],
      [allow("*", "core", "pods")],
      1,
    ],
    ["a subresource of all is held", [allow("get", "apps", "*/scale")], [allow("get", "apps", "deployments/scale")], 0],
    ["one name is wanted of all", [allow("get", "core", "pods")], [allow("get", "core", "pods", "a")], 0],
    ["all are wanted and one name is held", [allow("get", "core", "pods", "a")], [allow("get", "core", "pods")], 1],
    ["one of two names is held", [allow("get", "core", "pods", "a")], [allow("get", "core", "pods", "a b")], 1],
    ["paths are held by a pattern", [allowPaths("get", "/api/*")], [allowPaths("get", "/api/v1 /api/*")], 0],
    ["all paths are wanted", [allowPaths("get", "/api/*")], [allowPaths("get", "*")], 1],
    ["resources do not hold paths", [allow("*", "*", "*")], [allowPaths("get", "/x")], 1],
    ["paths do not hold resources", [allowPaths("*", "*")], [allow("get", "core", "pods")], 1],
    ["two verbs on two resources are missing", [], [allow("get list", "core", "pods secrets")], 4],
  ])("%s", (_, owned, wanted, missing) => {
    expect(rulesCover(owned, wanted)).toHaveLength(missing);
  });
});

describe("a rule too large to take apart", () => {
  const many = Array.from({ length: 500 }, (_, i) => `r${i}`).join(" ");
  const huge = allow(many, many, many);

  it("is missing as a whole, or held as a whole", () => {
    expect(rulesCover([allow("get", "core", "pods")], [huge])).toEqual([huge]);
    expect(rulesCover([allow("*", "*", "*")], [huge])).toEqual([]);
  });
});

describe("writing roles and bindings", () => {
  const manage = role("manage", [allow("create update get", "rbac.authorization.k8s.io", "*")]);
  const bindAlice = binding({ name: "manage", role: "manage", subjects: toAlice });
  const given = (...more: DynamicObject[]) => scene(...bootstrapPolicy(), manage, bindAlice, ...more);
  const secrets = role("evil", [allow("get", "core", "secrets")]);
  const grant = (rules: PolicyRule[]) => [
    role("more", rules),
    binding({ name: "more", role: "more", subjects: toAlice }),
  ];

  it("refuses a role with more than its writer holds, and lists what is missing", () => {
    const { authorizer } = given();
    const error = checkRoleWrite({ user: alice, authorizer, object: secrets });
    expect(error?.status).toMatchObject({
      code: 403,
      reason: "Forbidden",
      message:
        'clusterroles.rbac.authorization.k8s.io "evil" is forbidden: user "alice" (groups=["devs" "system:authenticated"]) ' +
        'is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
      details: { name: "evil", group: "rbac.authorization.k8s.io", kind: "clusterroles" },
    });
  });

  it("gathers the verbs of one resource in one line", () => {
    const { authorizer } = given();
    const object = role("evil", [allow("read", "core", "secrets"), allow("read", "core", "pods", "a")], "fleet");
    expect(checkRoleWrite({ user: alice, authorizer, object })?.message.split("\n").slice(1)).toEqual([
      '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list" "watch"]}',
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "watch"]}',
    ]);
  });

  it.each<[string, UserInfo, DynamicObject[]]>([
    ["masters", root, []],
    ["one who holds the rule", alice, grant([allow("get", "core", "secrets")])],
    ["one who may escalate", alice, grant([allow("escalate", "rbac.authorization.k8s.io", "clusterroles")])],
  ])("lets %s write it", (_, user, more) => {
    expect(checkRoleWrite({ user, authorizer: given(...more).authorizer, object: secrets })).toBeUndefined();
  });

  it("lets one who may escalate a named role change it, but not create it", () => {
    const { authorizer } = given(...grant([allow("escalate", "rbac.authorization.k8s.io", "clusterroles", "evil")]));
    const write = { user: alice, authorizer, object: secrets };
    expect(checkRoleWrite(write)?.code).toBe(403);
    expect(checkRoleWrite({ ...write, previous: role("evil", []) })).toBeUndefined();
  });

  it("wants full authority for a role that gathers others", () => {
    const { authorizer } = given();
    const object = { ...role("all", []), aggregationRule: { clusterRoleSelectors: [{}] } };
    const refused = /must have cluster-admin privileges to use the aggregationRule/;
    expect(checkRoleWrite({ user: alice, authorizer, object })?.message).toMatch(refused);
    expect(checkRoleWrite({ user: alice, authorizer, object: role("all", []), previous: object })?.message).toMatch(
      refused,
    );
    const powerful = given(...grant([allow("*", "*", "*"), allowPaths("*", "*")])).authorizer;
    expect(checkRoleWrite({ user: alice, authorizer: powerful, object })).toBeUndefined();
  });

  it("lets owners and finalizers be changed by anybody who may update, because deletion depends on it", () => {
    const { authorizer } = given();
    const finalized = { ...secrets, metadata: { ...secrets.metadata, finalizers: ["x/y"], resourceVersion: "4" } };
    expect(checkRoleWrite({ user: alice, authorizer, object: secrets, previous: finalized })).toBeUndefined();
  });

  it("does not remember a draft that changes afterwards", () => {
    const { authorizer } = given();
    const draft = role("evil", []);
    expect(checkRoleWrite({ user: alice, authorizer, object: draft })).toBeUndefined();
    draft.rules = secrets.rules;
    expect(checkRoleWrite({ user: alice, authorizer, object: draft })?.code).toBe(403);
  });

  const toAdmin = binding({ name: "evil", role: "cluster-admin", subjects: toAlice });

  it("refuses to bind a role that holds more than the writer", () => {
    const { authorizer } = given();
    expect(checkBindingWrite({ user: alice, authorizer, object: toAdmin })?.message).toBe(
      'clusterrolebindings.rbac.authorization.k8s.io "evil" is forbidden: user "alice" (groups=["devs" "system:authenticated"]) ' +
        'is attempting to grant RBAC permissions not currently held:\n{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n' +
        '{NonResourceURLs:["*"], Verbs:["*"]}',
    );
  });

  it("cannot judge a role that is missing", () => {
    const { authorizer } = given();
    const object = binding({ name: "missing", role: "nonesuch", subjects: [] });
    const error = checkBindingWrite({ user: alice, authorizer, object });
    expect(error?.code).toBe(404);
    expect(error?.message).toBe('clusterrolebindings.rbac.authorization.k8s.io "nonesuch" not found');
    expect(checkBindingWrite({ user: root, authorizer, object })).toBeUndefined();
  });

  it.each<[string, UserInfo, DynamicObject[]]>([
    ["masters", root, []],
    [
      "one who may bind it",
      alice,
      grant([allow("bind", "rbac.authorization.k8s.io", "clusterroles", "cluster-admin")]),
    ],
    ["one who holds it all", alice, grant([allow("*", "*", "*"), allowPaths("*", "*")])],
  ])("lets %s bind it", (_, user, more) => {
    expect(checkBindingWrite({ user, authorizer: given(...more).authorizer, object: toAdmin })).toBeUndefined();
  });

  it("lets an admin of a namespace hand on there what he holds there, and nowhere else", () => {
    const { authorizer } = given(binding({ name: "admin", namespace: "fleet", role: "admin", subjects: toAlice }));
    const object = (namespace: string) => binding({ name: "x", namespace, role: "edit", subjects: [] });
    expect(checkBindingWrite({ user: alice, authorizer, object: object("fleet") })).toBeUndefined();
    expect(checkBindingWrite({ user: alice, authorizer, object: object("other") })?.code).toBe(403);
  });
});

describe("messages", () => {
  const base = { user: alice, verb: "list", group: "", resource: "pods" };
  it.each<[Attributes, string]>([
    [
      { ...base, namespace: "default" },
      'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default"',
    ],
    [base, 'pods is forbidden: User "alice" cannot list resource "pods" in API group "" at the cluster scope'],
    [
      { ...base, verb: "create", subresource: "exec", name: "x", namespace: "default" },
      'pods "x" is forbidden: User "alice" cannot create resource "pods/exec" in API group "" in the namespace "default"',
    ],
    [
      { ...base, group: "apps", resource: "deployments" },
      'deployments.apps is forbidden: User "alice" cannot list resource "deployments" in API group "apps" at the cluster scope',
    ],
    [{ user: alice, verb: "get", path: "/nosuch" }, 'forbidden: User "alice" cannot get path "/nosuch"'],
  ])("%#", (attributes, message) => {
    expect(forbiddenMessage(attributes)).toBe(message);
    expect(forbiddenMessage(attributes, "RBAC: why")).toBe(`${message}: RBAC: why`);
  });

  it("carry details for resources and none for paths", () => {
    expect(accessDenied({ ...base, name: "x" }).status.details).toEqual({ name: "x", kind: "pods" });
    expect(accessDenied({ user: alice, verb: "get", path: "/x" }).status).toMatchObject({ code: 403, details: {} });
  });
});

describe("names of service accounts", () => {
  it.each([
    ["system:serviceaccount:fleet:agent", { namespace: "fleet", name: "agent" }],
    ["system:serviceaccount:fleet", undefined],
    ["system:serviceaccount:fleet:agent:x", undefined],
    ["system:serviceaccount::agent", undefined],
    ["alice", undefined],
  ])("%s", (username, parts) => {
    expect(splitServiceAccountName(username)).toEqual(parts);
  });
});
