/** Rules of the server that no kind can decide for itself, asked before every write. */
import type { DynamicObject } from "#api/meta";
import { PkiError, parseCertificateRequest } from "#lib/pki";
import { type Authorizer, checkBindingWrite, checkRoleWrite } from "../auth/index.ts";
import { type ApiError, forbidden } from "../errors.ts";
import { type Admission, subjectOf, type Target } from "../registry/index.ts";
import type { RequestContext } from "../resource.ts";

const PROTECTED_NAMESPACES: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"]);
const CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client";
const ADMINISTRATORS = "system:masters";

type Rule = (
  target: Target,
  draft: DynamicObject,
  current: DynamicObject | undefined,
  context: RequestContext,
) => ApiError | undefined;

export function serverRules(authorizer: Authorizer): Pick<Admission, "admit" | "admitDelete"> {
  const rules: Readonly<Record<string, Rule>> = {
    "certificates.k8s.io/certificatesigningrequests": noCertificateForAdministrators,
    "rbac.authorization.k8s.io/roles": roleRule(authorizer),
    "rbac.authorization.k8s.io/clusterroles": roleRule(authorizer),
    "rbac.authorization.k8s.io/rolebindings": bindingRule(authorizer),
    "rbac.authorization.k8s.io/clusterrolebindings": bindingRule(authorizer),
  };
  return {
    admit(target, draft, current, context) {
      const refused = rules[target.resource.storage]?.(target, draft, current, context);
      if (refused) throw refused;
    },
    admitDelete(target) {
      if (target.resource.storage === "core/namespaces" && PROTECTED_NAMESPACES.has(target.name)) {
        throw forbidden(subjectOf(target), "this namespace may not be deleted");
      }
    },
  };
}

/** A certificate outlives every binding: nobody gets one that makes him administrator for good. */
const noCertificateForAdministrators: Rule = (target, draft, current) => {
  const { signerName, request } = (draft.spec ?? {}) as { signerName?: string; request?: string };
  if (current || signerName !== CLIENT_SIGNER || !request) return undefined;
  try {
    const { subject } = parseCertificateRequest(Buffer.from(request, "base64").toString("utf8"));
    if (!subject.organizations.includes(ADMINISTRATORS)) return undefined;
    return forbidden(subjectOf(target), `use of ${CLIENT_SIGNER} signer with ${ADMINISTRATORS} group is not allowed`);
  } catch (error) {
    if (error instanceof PkiError) return undefined; // validation says what is wrong with the request
    throw error;
  }
};

function roleRule(authorizer: Authorizer): Rule {
  return (_, object, previous, { user }) => checkRoleWrite({ user, authorizer, object, ...(previous && { previous }) });
}

function bindingRule(authorizer: Authorizer): Rule {
  return (_, object, previous, { user }) =>
    checkBindingWrite({ user, authorizer, object, ...(previous && { previous }) });
}
