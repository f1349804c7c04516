import { describe } from "vitest";
import { addOnKindsSuite } from "../suites/addon-kinds.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

describe.skipIf(missing)(`kinds of add-ons on a real kube-apiserver${missing ? ` (${missing})` : ""}`, () =>
  addOnKindsSuite(startControlPlane),
);
