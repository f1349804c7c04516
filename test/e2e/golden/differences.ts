/** Where we differ from the recordings, and why that is right, or right for now. An unlisted difference fails. */

export interface Difference {
  /** `section/number` of the recording. */
  readonly at: string;
  readonly difference: string;
  readonly why: string;
  /** Whether it depends on which of two came first; else a difference that is gone fails, too. */
  readonly sometimes?: boolean;
}

const OWN_ADDRESS = "every server has an address and a port of its own";
const NO_COLLECTION = "dependents are not collected yet";

export const DIFFERENCES: readonly Difference[] = [
  {
    at: "basics/1",
    difference: "another version, compiler and no Go version",
    why: "the version is that of the API we serve",
  },
  { at: "basics/3", difference: "other checks", why: "what there is to check depends on how a server is built" },
  { at: "basics/13", difference: "serverAddress is empty", why: OWN_ADDRESS },
  {
    at: "negotiation/2",
    difference: "another order of keys and another certificate in the YAML",
    why: "the recording is text, and cut off",
  },
  {
    at: "delete/22",
    difference: "the object is marked as deleted already",
    why: "our namespace controller is faster than the recording one",
    sometimes: true,
  },
  {
    at: "crd/2",
    difference: "no storageVersionHash",
    why: "only storage migrators read it, and nothing is stored in two versions here",
  },
  { at: "crd/29", difference: "fewer groups", why: "resource.k8s.io and storagemigration.k8s.io are not served" },
  {
    at: "authz/11",
    difference: "ES256, and the keys are at the issuer",
    why: "keys on elliptic curves are smaller and faster; every client knows them",
  },
  { at: "authz/12", difference: "an elliptic key", why: "as above" },
  {
    at: "impersonation/2",
    difference: "details name the user, not the pods",
    why: "1.37 asks for the verbs of constrained impersonation first; we serve 1.36, which asks for the user",
  },
  {
    at: "defaults/9",
    difference: "no kube-apiserver-legacy-service-account-token-tracking",
    why: "tokens in Secrets are not tracked",
  },
  { at: "defaults/10", difference: "address and port", why: OWN_ADDRESS },
  { at: "defaults/11", difference: "address and port", why: OWN_ADDRESS },
  ...rows("smp", [10, 11, 16, 17], "revision and conditions", "they come when a controller gets to it").map((row) => ({
    ...row,
    sometimes: true,
  })),
  ...rows("gc", [5, 6, 10, 12], "dependents stay", NO_COLLECTION),
  { at: "sa-token-secret/2", difference: "no token in the Secret", why: "tokens in Secrets are not issued yet" },
  { at: "discovery/2", difference: "fewer groups", why: "resource.k8s.io and storagemigration.k8s.io are not served" },
  { at: "discovery/3", difference: "no storageVersionHash", why: "as in crd/2" },
];

function rows(section: string, numbers: readonly number[], difference: string, why: string): Difference[] {
  return numbers.map((number) => ({ at: `${section}/${number}`, difference, why }));
}
