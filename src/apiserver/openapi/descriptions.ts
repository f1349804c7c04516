/** What `kubectl explain` says of the fields that every object has. */

/** Of an object of any kind. */
export const OBJECT_FIELDS: Readonly<Record<"apiVersion" | "kind" | "metadata", string>> = {
  apiVersion: "APIVersion defines the group and version whose schema this object follows.",
  kind: "Kind says what the object is: the schema within that group and version, in CamelCase.",
  metadata: "Standard object's metadata: how it is named, found, owned and deleted.",
};

/** Of its metadata. */
export const METADATA_FIELDS: Readonly<Record<string, string>> = {
  annotations: "Annotations are facts for programs and people that nothing is selected by.",
  creationTimestamp:
    "CreationTimestamp is a timestamp of the moment when the server stored the object for the first time.",
  deletionGracePeriodSeconds: "Seconds that the object is given to end by itself once its deletion was asked for.",
  deletionTimestamp:
    "DeletionTimestamp is when the object will be gone, once its deletion was asked for and nothing holds it.",
  finalizers: "Finalizers name those who must finish before a deleted object may go; each removes its own name.",
  generateName: "GenerateName is a prefix from which the server makes a free name when none is given.",
  generation: "Generation counts the changes of what is wished, and not those of what is reported.",
  labels: "Labels are short facts by which objects are selected.",
  managedFields: "ManagedFields keeps account of who set which field, and in which way.",
  name: "Name is unique among the objects of this kind, in the namespace where there is one; it never changes.",
  namespace: "Namespace is where the object lives and within which its name is unique.",
  ownerReferences: "OwnerReferences name the objects that this one depends on: it goes when the last of them is gone.",
  resourceVersion: "ResourceVersion changes with every write; hand it back to write only what nobody else has changed.",
  selfLink: "SelfLink is a field of the past and empty.",
  uid: "UID tells this object from any other that ever had its name.",
};
