/** Objects that come from outside may have any key: `__proto__` is one like any other. */

/** Sets an own key of an object. */
export function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}

/** An object that is copied once something in it changes, and is itself until then. */
export class CopyOnWrite {
  readonly #original: Record<string, unknown>;
  #copy: Record<string, unknown> | undefined;

  constructor(original: Record<string, unknown>) {
    this.#original = original;
  }

  get result(): Record<string, unknown> {
    return this.#copy ?? this.#original;
  }

  set(key: string, value: unknown): void {
    this.#copy ??= { ...this.#original };
    setOwn(this.#copy, key, value);
  }

  remove(key: string): void {
    this.#copy ??= { ...this.#original };
    delete this.#copy[key];
  }
}
