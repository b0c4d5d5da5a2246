import {
  type DoctorAnswer,
  type KeyKind,
  makeId,
  type NewKeyAnswer,
  type ResolveRequest,
  type RetryRequest,
  type ServiceInfo,
  type TaskView,
  type TypeList,
  type WorkerList,
  type WorkerView,
} from '../contract/index.ts';
import { idOf, plainJson, type TaskRef } from './request.ts';
import type { CallOptions } from './service-client.ts';
import { TaskReads } from './task-reads.ts';

/** Bound to the `seq` of the given task, else to the present one; refused with `CONFLICT` if it changed. */
interface Action extends CallOptions {
  /** Why, for the journal. */
  readonly reason: string;
  readonly ifSeq?: number | undefined;
}

export interface RetryOptions extends Action {
  /** Attempts that are granted [1]. */
  readonly attempts?: number | undefined;
  /** Needed where an effect may already have taken place (`error.effect: "begun"`). */
  readonly acceptRepeatedEffect?: boolean | undefined;
}

export interface ResolveOptions extends Action {
  readonly resolution: ResolveRequest['resolution'];
  /** With `succeeded` [null]. */
  readonly result?: unknown;
}

/** Acts on tasks that need a person, and sees workers and queues. Needs a key of the kind `task-operator`. */
export class Operator extends TaskReads {
  /** Runs a failed, expired or cancelled task again. */
  async retry(task: TaskRef, options: RetryOptions): Promise<TaskView> {
    const { attempts = 1, acceptRepeatedEffect, ...action } = options;
    const { how, ...fields } = await this.#action(task, action);
    const accept = acceptRepeatedEffect === undefined ? {} : { acceptRepeatedEffect };
    const request: RetryRequest = { ...fields, attempts, ...accept };
    return this.client.retry(idOf(task), request, how);
  }

  /** Says what became of a task whose outcome is unknown, or takes its late report. */
  async resolve(task: TaskRef, options: ResolveOptions): Promise<TaskView> {
    const { resolution, result, ...action } = options;
    const { how, ...fields } = await this.#action(task, action);
    const made = result === undefined ? {} : (plainJson({ result }) as object);
    const request: ResolveRequest = { ...fields, resolution, ...made };
    return this.client.resolve(idOf(task), request, how);
  }

  /** Asks the present session of a worker to drain. */
  drainWorker(workerId: string, how?: CallOptions): Promise<void> {
    return this.client.drainWorker(workerId, how);
  }

  workers(how?: CallOptions): Promise<WorkerList> {
    return this.client.workers(how);
  }

  worker(workerId: string, how?: CallOptions): Promise<WorkerView> {
    return this.client.worker(workerId, how);
  }

  types(how?: CallOptions): Promise<TypeList> {
    return this.client.types(how);
  }

  doctor(how?: CallOptions): Promise<DoctorAnswer> {
    return this.client.doctor(how);
  }

  discover(how?: CallOptions): Promise<ServiceInfo> {
    return this.client.discover(how);
  }

  /** Makes a key of this project (needs an `admin` key). It is shown here and never again. */
  newKey(name: string, kind: KeyKind, how?: CallOptions): Promise<NewKeyAnswer> {
    return this.client.newKey({ name, kind }, how);
  }

  async #action(task: TaskRef, { reason, ifSeq, ...how }: Action) {
    const { clock, random } = this.client;
    const actionId = makeId('act', clock.wall(), random.bytes(10));
    return { actionId, ifSeq: ifSeq ?? (await this.seqOf(task, how)), reason, how };
  }
}
