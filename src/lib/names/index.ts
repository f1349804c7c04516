/**
 * What Kubernetes accepts as a name, a label or a key. Every rule is a pure function from the text to what is
 * wrong with it, in the words that Kubernetes uses; an empty answer means that the text is fine.
 */
export {
  configKey,
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  labelValue,
  pathSegment,
  qualifiedName,
} from "./rules.ts";
