import type { ClientOptions } from '../client/open-client.ts';
import {
  judgedElsewhere,
  mustBeFlag,
  mustBeFunction,
  mustBeMilliseconds,
  mustBeProxy,
  mustBeText,
  type OptionChecks,
} from './options.ts';

/** Of producers and operators. */
export const clientChecks: OptionChecks<ClientOptions> = {
  serviceUrl: judgedElsewhere,
  key: judgedElsewhere,
  project: mustBeText,
  timeoutMs: mustBeMilliseconds,
  insecureHttp: mustBeFlag,
  caFile: mustBeText,
  proxy: mustBeProxy,
  fetch: mustBeFunction,
};
