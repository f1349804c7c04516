/** Pods whose containers of Capstan's own image run as programs, and all others as a simulation. */
import type { Container, ContainerStatus, Pod } from "#api/core";
import type { ContainerLog, Ended, PodRunner, Run, Running, RunReference, Sight, Stopping } from "../kubelet/runner.ts";
import { REAL } from "./program-run.ts";

export interface MixedPodsOptions {
  /** A container with exactly this image is ours. */
  readonly image: string;
  readonly programs: PodRunner;
  readonly simulation: PodRunner;
}

export class MixedPods implements PodRunner {
  readonly #options: MixedPodsOptions;

  constructor(options: MixedPodsOptions) {
    this.#options = options;
  }

  start(run: Run, before: ContainerStatus): Sight {
    return this.#byImage(run.container.image).start(run, before);
  }

  /** A container of ours that was simulated before the node was told which image is ours has to begin anew. */
  look(run: Run, reported: ContainerStatus): Sight {
    const { image, programs } = this.#options;
    const runner = run.container.image === image ? programs : this.#byRun(reported.containerID);
    return runner.look(run, reported);
  }

  end(run: Run, reported: ContainerStatus): Running | Ended {
    return this.#byRun(reported.containerID).end(run, reported);
  }

  strikes(pod: Pod, reported: ContainerStatus): number {
    const { state, lastState } = reported;
    return this.#byRun((state?.terminated ?? lastState?.terminated)?.containerID).strikes(pod, reported);
  }

  stop(pod: Pod): Stopping {
    const { programs, simulation } = this.#options;
    const real = programs.stop(pod);
    const simulated = this.#isSimulated(pod) ? simulation.stop(pod) : undefined;
    const waits = [real, simulated].flatMap((each) => (each?.is === "stopping" ? each.after : []));
    if (waits.length > 0) return { is: "stopping", after: Math.min(...waits) };
    return {
      is: "stopped",
      exitCode(name) {
        const ended = isReal(containerIdOf(pod, name)) ? real : (simulated ?? real);
        return ended.is === "stopped" ? ended.exitCode(name) : 0;
      },
    };
  }

  finish(pod: Pod): void {
    this.#options.programs.finish(pod);
    this.#options.simulation.finish(pod);
  }

  forget(pod: Pod): void {
    this.#options.programs.forget(pod);
    this.#options.simulation.forget(pod);
  }

  log(pod: Pod, container: Container, run: RunReference): ContainerLog {
    return this.#byRun(run.containerID).log(pod, container, run);
  }

  onChange(listener: (podKey: string) => void): () => void {
    const ends = [this.#options.programs.onChange(listener), this.#options.simulation.onChange(listener)];
    return () => {
      for (const end of ends) end();
    };
  }

  #byImage(image: string | undefined): PodRunner {
    return image === this.#options.image ? this.#options.programs : this.#options.simulation;
  }

  #byRun(containerID: string | undefined): PodRunner {
    return isReal(containerID) ? this.#options.programs : this.#options.simulation;
  }

  /** Whether anything of the Pod is left to the simulation; if not, nobody has to wait for it. */
  #isSimulated({ spec }: Pod): boolean {
    const { initContainers = [], containers, ephemeralContainers = [] } = spec;
    return [...initContainers, ...containers, ...ephemeralContainers].some(
      ({ image }) => image !== this.#options.image,
    );
  }
}

function isReal(containerID: string | undefined): boolean {
  return containerID?.startsWith(REAL) ?? false;
}

function containerIdOf({ status }: Pod, name: string): string | undefined {
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status ?? {};
  const all = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
  return all.find((status) => status.name === name)?.containerID;
}
