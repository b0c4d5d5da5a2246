import { CLAIM_WAIT } from '../../contract/claim-wait.ts';
import { CONTRACT_VERSION } from '../../contract/limits.ts';
import { openApiDocument } from '../../contract/openapi.ts';
import { START_IN_OUTCOME } from '../../contract/start-in-outcome.ts';
import { ops } from '../../contract/worker-calls.ts';
import { answer, JSON_TYPE } from '../answer.ts';
import type { OpenOperationId, OpenRoute } from '../call.ts';
import { instantText } from '../task-view.ts';

/** What anybody may ask. */
export function serviceRoutes(version: string): Record<OpenOperationId, OpenRoute> {
  let document: Uint8Array<ArrayBuffer> | undefined;
  return {
    async discover({ services }) {
      return answer({
        contracts: [CONTRACT_VERSION],
        serverTime: instantText(await services.store.nowMs()),
        limits: services.limits,
        features: [...ops, 'hints', 'events', 'batch', CLAIM_WAIT, START_IN_OUTCOME],
      });
    },

    async openapi({ services }) {
      document ??= Buffer.from(JSON.stringify(openApiDocument(version, services.limits)));
      return { status: 200, body: document, type: JSON_TYPE };
    },
  };
}
