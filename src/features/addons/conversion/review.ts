/** What a server asks whom a definition names as converter, and the answer. */
import type { ConversionReview } from "#api/apiextensions";
import { NotConvertible, toVersion } from "./convert.ts";

/** Answers in the version of the question. An object that cannot be converted fails the whole review, as servers expect. */
export function convert({ apiVersion, kind, request }: ConversionReview): ConversionReview {
  const { uid = "", desiredAPIVersion = "", objects = [] } = request ?? {};
  try {
    if (!request) throw new NotConvertible("the review has no request");
    const convertedObjects = objects.map((object) => toVersion(object, desiredAPIVersion));
    return { apiVersion, kind, response: { uid, convertedObjects, result: { status: "Success" } } };
  } catch (error) {
    if (!(error instanceof NotConvertible)) throw error;
    return { apiVersion, kind, response: { uid, result: { status: "Failure", message: error.message } } };
  }
}
