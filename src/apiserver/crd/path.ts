/** Where a field lies in an object, as errors name it: `spec.items[0].name`, `spec.labels[app]`. */
export type Path = string;

export function childPath(path: Path, name: string): Path {
  return path === "" ? name : `${path}.${name}`;
}

export function indexPath(path: Path, index: number): Path {
  return `${path}[${index}]`;
}

export function keyPath(path: Path, key: string): Path {
  return `${path}[${key}]`;
}
