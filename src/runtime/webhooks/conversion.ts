/** Conversions of objects as answers to the reviews that they come in. */
import type { ConversionReview } from "#api/apiextensions";
import type { DynamicObject } from "#api/meta";
import { isObject, parseJson, stringifyJson } from "#lib/json";
import { BadReview } from "./review.ts";
import type { ReviewHandler } from "./server.ts";

export function conversionReviews(convert: (review: ConversionReview) => ConversionReview): ReviewHandler {
  return (text) => stringifyJson(convert(readConversion(text)));
}

function readConversion(text: string): ConversionReview {
  const review = parsed(text);
  if (!isObject(review) || review.kind !== "ConversionReview") throw new BadReview("the body is no ConversionReview");
  const { apiVersion, request } = review;
  if (apiVersion !== "apiextensions.k8s.io/v1" && apiVersion !== "apiextensions.k8s.io/v1beta1") {
    throw new BadReview("ConversionReviews are understood in apiextensions.k8s.io/v1 and v1beta1 only");
  }
  if (!isObject(request)) throw new BadReview("the ConversionReview has no request");
  const { uid, desiredAPIVersion, objects } = request;
  if (typeof uid !== "string" || uid === "") throw new BadReview("request.uid is missing");
  if (typeof desiredAPIVersion !== "string") throw new BadReview("request.desiredAPIVersion is missing");
  if (!Array.isArray(objects) || !objects.every(isKubeObject))
    throw new BadReview("request.objects is no list of objects");
  return { apiVersion, kind: "ConversionReview", request: { uid, desiredAPIVersion, objects } };
}

function isKubeObject(value: unknown): value is DynamicObject {
  if (!isObject(value) || !isObject(value.metadata)) return false;
  const { apiVersion, kind, spec, status } = value;
  const isPart = (part: unknown) => part === undefined || isObject(part);
  return typeof apiVersion === "string" && typeof kind === "string" && isPart(spec) && isPart(status);
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // What it stumbled upon is not repeated: nobody knows what that is.
    throw new BadReview("the body is no JSON");
  }
}
