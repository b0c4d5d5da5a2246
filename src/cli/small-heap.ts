import { setFlagsFromString } from 'node:v8';

/**
 * For an agent, before it loads anything: V8's space for young objects stays as large as it begins (1 MB) and does not grow to
 * 16 MB and more while our code is loaded, to stay so for good. An agent's objects are few and die young; it is 10 MB smaller
 * and not slower. Handlers have processes of their own, where this does not hold.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
