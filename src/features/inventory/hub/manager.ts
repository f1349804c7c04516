/** The name under which a hub keeps its profiles, as every hub of this kind calls itself. */
export const MANAGER = "open-cluster-management";
