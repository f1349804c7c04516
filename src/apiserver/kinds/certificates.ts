/** CertificateSigningRequests: asked for by anyone, approved by one who may, signed by another. */
import type { DynamicObject } from "#api/meta";
import { timestamp } from "#lib/clock";
import { clone, equal } from "#lib/json";
import { dns1123Subdomain } from "#lib/names";
import {
  type Subject as CertificateSubject,
  isCertificateUsage,
  PkiError,
  parseCertificateRequest,
  parseCertificates,
} from "#lib/pki";
import { type FieldError, field, forbidden } from "../errors.ts";
import type { GroupVersionKind, RequestContext, Resource } from "../resource.ts";
import type { KindDependencies } from "./dependencies.ts";
import { ensure, type Fields, fieldsAt, numberAt, objectsAt, take, textAt, textsAt } from "./fields.ts";
import { resource } from "./strategy.ts";
import { EDIT_VERBS, keepAllBut, statusOf } from "./subresources.ts";
import { certificateSigningRequests as table } from "./tables/groups.ts";

const GROUP = "certificates.k8s.io";
const KIND: GroupVersionKind = { group: GROUP, version: "v1", kind: "CertificateSigningRequest" };
const CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client";
const LEGACY_SIGNER = "kubernetes.io/legacy-unknown";
const SHORTEST_SECONDS = 600;
const CONDITIONS = "status.conditions";

export function certificatesResources({ authorize }: Pick<KindDependencies, "authorize">): Resource[] {
  /** A right on one signer, or on all signers of a domain. */
  function demand(verb: "approve" | "sign", csr: DynamicObject, { user }: RequestContext): void {
    const signerName = textAt(csr, "spec", "signerName");
    const [domain = ""] = signerName.split("/");
    const allowed = [signerName, `${domain}/*`].some(
      (name) => authorize({ user, verb, group: GROUP, version: "v1", resource: "signers", name }).allowed,
    );
    if (!allowed) {
      throw forbidden(
        { group: GROUP, kind: "certificatesigningrequests", name: csr.metadata.name },
        `user not permitted to ${verb} requests with signerName ${JSON.stringify(signerName)}`,
      );
    }
  }

  return [
    resource({
      ...KIND,
      plural: "certificatesigningrequests",
      namespaced: false,
      shortNames: ["csr"],
      table,
      hasStatus: true,
      nameRule: "path-segment",
      selectableFields: { "spec.signerName": (csr) => textAt(csr, "spec", "signerName") },
      prepareForCreate(draft, context) {
        signWithCaller(ensure(draft, "spec"), context);
        refuseMasters(draft);
      },
      prepareForUpdate(draft, current) {
        draft.spec = clone(current.spec);
      },
      validate: specErrors,
      subresources: [
        statusOf(KIND, {
          prepare(draft, current, context) {
            const [before, status] = [fieldsAt(clone(current), "status"), ensure(draft, "status")];
            status.conditions = withDecisionsOf(objectsAt(before, "conditions"), objectsAt(status, "conditions"));
            settleConditions(status, before, context);
            if (!equal(status, before)) demand("sign", current, context);
          },
          validate: (csr, current) => [...conditionErrors(csr, current, false), ...certificateErrors(csr, current)],
        }),
        {
          name: "approval",
          responseKind: KIND,
          verbs: EDIT_VERBS,
          edit: {
            prepare(draft, current, context) {
              demand("approve", current, context);
              keepAllBut("status", draft, current);
              const before = fieldsAt(clone(current), "status");
              const status = ensure(draft, "status");
              take(status, before, "certificate");
              settleConditions(status, before, context);
            },
            validate: (csr, current) => conditionErrors(csr, current, true),
          },
        },
      ],
    }),
  ];
}

/** The request speaks for whoever sent it, whatever it says. */
function signWithCaller(spec: Fields, { user }: RequestContext): void {
  for (const key of ["uid", "extra"]) delete spec[key];
  spec.username = user.username;
  if (user.uid) spec.uid = user.uid;
  spec.groups = [...user.groups];
  if (user.extra && Object.keys(user.extra).length > 0) {
    spec.extra = Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]]));
  }
}

/** A certificate for this group could never be taken back: it stands above all permissions. */
function refuseMasters(csr: DynamicObject): void {
  if (textAt(csr, "spec", "signerName") !== CLIENT_SIGNER) return;
  const asked = readRequest(csr);
  if (typeof asked === "string" || !asked.organizations.includes("system:masters")) return;
  throw forbidden(
    { group: GROUP, kind: "certificatesigningrequests", name: csr.metadata.name },
    `use of ${CLIENT_SIGNER} signer with system:masters group is not allowed`,
  );
}

/** Whom the request is for, or why it cannot be read. */
function readRequest(csr: DynamicObject): CertificateSubject | string {
  const text = Buffer.from(textAt(csr, "spec", "request"), "base64").toString("latin1");
  if (!text.includes("-----BEGIN CERTIFICATE REQUEST-----")) return "PEM block type must be CERTIFICATE REQUEST";
  try {
    return parseCertificateRequest(text).subject;
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    return error.message;
  }
}

function specErrors(csr: DynamicObject): FieldError[] {
  const asked = readRequest(csr);
  const seconds = numberAt(csr, "spec", "expirationSeconds");
  return [
    ...(typeof asked === "string" ? [field.invalid("spec.request", textAt(csr, "spec", "request"), asked)] : []),
    ...usageErrors(textsAt(csr, "spec", "usages")),
    ...signerErrors(textAt(csr, "spec", "signerName")),
    ...(seconds !== undefined && seconds < SHORTEST_SECONDS
      ? [
          field.invalid(
            "spec.expirationSeconds",
            seconds,
            "may not specify a duration less than 600 seconds (10 minutes)",
          ),
        ]
      : []),
  ];
}

function usageErrors(usages: readonly string[]): FieldError[] {
  if (usages.length === 0) return [field.required("spec.usages", "usages must be specified")];
  return usages.flatMap((usage, index) => {
    const path = `spec.usages[${index}]`;
    if (!isCertificateUsage(usage)) {
      return [
        { reason: "FieldValueNotSupported", field: path, message: `Unsupported value: ${JSON.stringify(usage)}` },
      ];
    }
    return usages.indexOf(usage) < index ? [field.duplicate(path, usage)] : [];
  });
}

function signerErrors(signerName: string): FieldError[] {
  const path = "spec.signerName";
  if (signerName === "") return [field.required(path)];
  if (signerName === LEGACY_SIGNER) {
    return [field.invalid(path, signerName, "the legacy signerName is not allowed via this API version")];
  }
  const [domain = "", name = "", ...more] = signerName.split("/");
  if (!signerName.includes("/") || more.length > 0) {
    return [
      field.invalid(
        path,
        signerName,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'",
      ),
    ];
  }
  const problems = [...dns1123Subdomain(domain), ...dns1123Subdomain(name)];
  if (!domain.includes(".")) problems.unshift("should be a domain with at least two segments separated by dots");
  return problems.map((problem) => field.invalid(path, signerName, problem));
}

const DECISIONS: ReadonlySet<unknown> = new Set(["Approved", "Denied"]);
const LASTING = ["Approved", "Denied", "Failed"] as const;

/** The conditions of a signer's request, with the decisions as they are stored: those are not a signer's to make. */
function withDecisionsOf(before: readonly Fields[], next: readonly Fields[]): Fields[] {
  const others = next.filter(({ type }) => !DECISIONS.has(type));
  return [...before.filter(({ type }) => DECISIONS.has(type)), ...others];
}

/** Fills in when each condition was last written and last changed. */
function settleConditions(status: Fields, before: Fields, { now }: RequestContext): void {
  const conditions = objectsAt(status, "conditions");
  if (conditions.length === 0) {
    delete status.conditions;
    return;
  }
  for (const condition of conditions) {
    const old = objectsAt(before, "conditions").find(
      ({ type, status: was }) => type === condition.type && was === condition.status,
    );
    condition.lastUpdateTime ??= timestamp(now);
    condition.lastTransitionTime ??= old?.lastTransitionTime ?? timestamp(now);
  }
  status.conditions = conditions;
}

function conditionErrors(csr: DynamicObject, current: DynamicObject, deciding: boolean): FieldError[] {
  const conditions = objectsAt(csr, "status", "conditions");
  const before = new Set(objectsAt(current, "status", "conditions").map(({ type }) => type));
  const types = conditions.map(({ type }) => type);
  const errors: FieldError[] = [];
  conditions.forEach(({ type, status }, index) => {
    const path = `${CONDITIONS}[${index}]`;
    if (!type) errors.push(field.required(`${path}.type`));
    else if (types.indexOf(type) < index) errors.push(field.duplicate(`${path}.type`, type));
    if (LASTING.some((lasting) => lasting === type)) {
      if (status !== "True") errors.push(field.notSupported(`${path}.status`, status, ["True"]));
    } else if (!["True", "False", "Unknown"].some((known) => known === status)) {
      errors.push(field.notSupported(`${path}.status`, status, ["False", "True", "Unknown"]));
    }
  });
  if (types.includes("Approved") && types.includes("Denied")) {
    const named = ["Approved", "Denied"].map((type) => `conditions[{"type": "${type}"}]`);
    const listed = named.map((name) => `\`${name}\``).join(", ");
    errors.push(field.invalid(CONDITIONS, `{${named.join(", ")}}`, `must specify at most one of: ${listed}`));
  }
  for (const lasting of LASTING) {
    if (before.has(lasting) && !types.includes(lasting)) {
      errors.push(field.forbidden(CONDITIONS, `updates may not remove a condition of type "${lasting}"`));
    }
  }
  if (deciding && types.includes("Failed") && !before.has("Failed")) {
    errors.push(field.forbidden(CONDITIONS, `updates may not add a condition of type "Failed"`));
  }
  return errors;
}

function certificateErrors(csr: DynamicObject, current: DynamicObject): FieldError[] {
  const path = "status.certificate";
  const [next, before] = [textAt(csr, "status", "certificate"), textAt(current, "status", "certificate")];
  if (next === before) return [];
  if (before !== "") return [field.forbidden(path, "updates may not modify existing certificate content")];
  try {
    const certificates = parseCertificates(Buffer.from(next, "base64").toString("latin1"));
    return certificates.length > 0
      ? []
      : [field.invalid(path, "<certificate data>", "must contain at least one CERTIFICATE PEM block")];
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    return [field.invalid(path, "<certificate data>", error.message)];
  }
}
