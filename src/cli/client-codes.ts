import type { ExitName } from './exit-codes.ts';
import { startCodes } from './start-codes.ts';
import { statusCodes } from './status/codes.ts';
import { updateCodes } from './update/codes.ts';

/** A code that commands, workers and the SDK say themselves: nobody answered it. */
export interface ClientCode {
  /** How a command ends with it; none: only programs meet it. */
  readonly exit?: ExitName;
  readonly title: string;
  readonly next: string;
}

/** By what they are about, for docs/errors.md; the message says more of the case at hand. */
export const clientCodes = {
  'Options, settings and input': {
    USAGE: {
      exit: 'usage',
      title: 'The command line names what does not exist, or leaves out what is needed',
      next: 'Look at its page: `--help`.',
    },
    SETTING_INVALID: {
      exit: 'usage',
      title: 'A setting has a value that it cannot have',
      next: 'Correct it in the place that is named: a flag, a variable or a file.',
    },
    CONFIG_INVALID: {
      exit: 'configuration',
      title: 'The config file or the profile cannot be read, or is open to others',
      next: 'Correct the file that is named, or its mode.',
    },
    INVALID_OPTION: {
      title:
        'A constructor, `handle()` or a call of the SDK got an option that it does not know or cannot use',
      next: 'Correct the option in `details.option`; `details.nearest` is the one most likely meant.',
    },
    INPUT_JSON: {
      exit: 'input-refused',
      title: 'What was given as JSON is none',
      next: 'Correct it; in a shell put it in single quotes, or give a file: `--input @file.json`.',
    },
    FILE_NOT_FOUND: {
      exit: 'not-found',
      title: 'A file that was named is not there',
      next: 'Check the path.',
    },
    FILE_NOT_WRITTEN: {
      title: 'A file that the command was asked to write could not be written',
      next: 'Name another file, or make its folder writable.',
      exit: 'input-output',
    },
    WORKER_UNFIT: {
      exit: 'checks-failed',
      title: 'The program that was given to the conformance kit is no worker that can be judged',
      next: 'Correct the command after `--`, or give the worker what `--manifest` asks for.',
    },
    FOLDER_GONE: {
      exit: 'input-output',
      title: 'The current folder was removed',
      next: 'Change to another one.',
    },
    NO_STATE_FOLDER: {
      title: 'There is no folder for the spool: the user has no home',
      next: 'Give the option `spool`.',
    },
  },
  'Address and connection': {
    INVALID_ADDRESS: {
      exit: 'usage',
      title: 'The address of the control plane is missing or is none',
      next: 'Write it as https://tasks.example.com or http://127.0.0.1:7420.',
    },
    INSECURE_HTTP: {
      exit: 'usage',
      title: 'The key would travel readable, by plain http beyond this machine',
      next: 'Use https, or `--insecure-http` (`insecureHttp: true`) on a network that you trust.',
    },
    INVALID_PROXY: {
      exit: 'usage',
      title: 'The address of a proxy is none',
      next: 'Correct HTTPS_PROXY, HTTP_PROXY or the option `proxy`.',
    },
    CA_FILE_UNREADABLE: {
      exit: 'input-output',
      title: 'The file with further authorities cannot be read, or holds no certificate',
      next: 'Check `--ca-file` (`caFile`): a file in PEM form.',
    },
    UNREACHABLE: {
      exit: 'unreachable',
      title: 'Nobody answered; `details.cause` is dns, connect, tls, proxy, timeout or cut',
      next: 'Check address, network and proxy. A call that was cut may have had its effect: the same idempotency key makes it safe again.',
    },
    CONTRACT_MISMATCH: {
      exit: 'contract-mismatch',
      title: 'A worker and its control plane share no version of the contract',
      next: 'Update the one that the message names; what the worker owes stays in its spool until then.',
    },
    NOT_THE_CONTRACT: {
      exit: 'not-the-contract',
      title: 'Something else than a control plane answered',
      next: 'Check that the address is no proxy or page.',
    },
    ABORTED: {
      title: 'The call was given up by its caller',
      next: 'Nothing, or call it again.',
    },
    AWAIT_TIMEOUT: {
      title: 'The task has not ended within `timeoutMs`',
      next: 'It goes on: await it again.',
    },
  },
  Keys: {
    KEY_MISSING: {
      exit: 'key-refused',
      title: 'No key was given, or its variable or source is empty',
      next: 'Set the variable, or make one: `interlock keys new`.',
    },
    KEY_MALFORMED: {
      exit: 'key-refused',
      title: 'What was given can be no key',
      next: 'A key is one line that begins with `il_`.',
    },
    KEY_UNREADABLE: {
      exit: 'key-refused',
      title: 'The key file cannot be read',
      next: 'Give the path of a file with one key, readable for this user (mode 0600).',
    },
    KEY_REFUSED: {
      exit: 'key-refused',
      title: 'The control plane refuses the key of a worker',
      next: 'Give it one of the kind `task-worker`; the spool keeps what is owed.',
    },
    PROJECT_MISMATCH: {
      exit: 'key-refused',
      title: 'The key belongs to another project than the one that was named',
      next: 'Use a key of that project, or name the right one.',
    },
    KEY_NOT_SHOWN: {
      exit: 'input-output',
      title: 'A new key could not be written to stdout',
      next: 'Give it a terminal or a file with room; the message says whether a key was made.',
    },
  },
  'The SDK’s producers and operators': {
    CLIENT_CLOSED: {
      title:
        '`close()` of the `TaskProducer` or `TaskOperator` was called before there was an answer',
      next: 'Call `close()` when all calls have ended. What was under way may have had its effect: submit it again with its idempotency key.',
    },
  },
  'Workers and their spool': {
    SPOOL_LOCKED: {
      exit: 'spool-locked',
      title: 'Another live worker holds the spool',
      next: 'Stop that one, or give this one its own `--spool` and `--worker-id`.',
    },
    SPOOL_UNWRITABLE: {
      exit: 'spool-unwritable',
      title: 'The spool cannot be made or written',
      next: 'See `details.reason`, and [a spool in trouble](operations.md#a-spool-in-trouble).',
    },
    SPOOL_UNREADABLE: {
      exit: 'spool-unwritable',
      title: 'The spool cannot be read',
      next: 'Check its owner, its mode and the disk.',
    },
    SPOOL_UNSAFE: {
      exit: 'spool-unwritable',
      title: 'Others could read or change the spool, or it holds other things',
      next: 'Give a folder that is not there yet: it is made for its user alone.',
    },
    SPOOL_LOST: {
      exit: 'spool-lost',
      title: 'The spool was taken away while the worker was running',
      next: 'Find out who removed or took it; start the worker again.',
    },
    SPOOL_WRITE_FAILED: {
      exit: 'input-output',
      title: 'A record could not be written to the spool',
      next: 'See `details.reason`: most often the disk is full.',
    },
    SPOOL_READ_FAILED: {
      exit: 'input-output',
      title: 'A report cannot be read back from the spool',
      next: 'Check the disk; `interlock spool list` has what is left.',
    },
    NO_HANDLERS: {
      title: 'A `TaskWorker` was started without a handler',
      next: 'Call `handle()` before `start()`.',
    },
    ALREADY_STARTED: {
      title: 'A handler was added after `start()`',
      next: 'Call `handle()` for all of them first.',
    },
    WORKER_ENDED: {
      title: '`start()` was called on a `TaskWorker` after `drain()`',
      next: 'Make a new `TaskWorker` to take tasks.',
    },
    AGENT_NOT_STARTED: {
      title: 'The thread of a `TaskWorker` cannot be started',
      next: 'See the message: a bundler that left a file behind, or Node’s permission model.',
    },
    AGENT_DIED: {
      title: 'The thread of a `TaskWorker` has ended by a fault of its own',
      next: 'Start a worker again: it sends what lies in the spool.',
    },
    FORCED_STOP: {
      exit: 'forced-stop',
      title: 'A further signal ended the worker before its handlers had ended',
      next: 'Nothing is lost: the next start sends what is in the spool.',
    },
  },
  'Files with handlers': {
    HANDLERS_NONE: {
      exit: 'checks-failed',
      title: 'The worker has no handler that loads',
      next: 'See the problems that are named, or `interlock-worker --check`.',
    },
    HANDLERS_UNREADABLE: {
      title: 'The folder with handlers cannot be read',
      next: 'Check `--handlers` and its permissions.',
    },
    HANDLERS_TOO_MANY: {
      title: 'There are more handlers than one worker serves',
      next: 'Divide the folder among workers.',
    },
    HANDLER_NOT_LOADED: {
      title: 'The file of a handler does not load',
      next: 'See the message: syntax, a missing module, or what it threw.',
    },
    HANDLER_NO_FUNCTION: {
      title: 'There is no function to call',
      next: 'Write `export default async (input, ctx) => …`.',
    },
    HANDLER_BAD_DECLARATION: {
      title:
        'A handler declares what cannot be: `effectSafety`, `effectGate`, `host`, `timeoutMs`, a schema',
      next: 'Correct the declaration that is named.',
    },
    HANDLER_SHARED_UNSAFE: {
      title: "A handler that is not `pure` or `idempotent` asks for `host: 'shared'`",
      next: "Take out `host: 'shared'`, or declare `effectSafety` if that is true.",
    },
    HANDLER_NAME_INVALID: {
      title: 'The name of a file is no type and version',
      next: 'Name it like `demo/hello@1.ts`.',
    },
    HANDLER_DUPLICATE: {
      title: 'Two handlers are for one type and version',
      next: 'Keep one of them.',
    },
    HANDLER_WORD_UNKNOWN: {
      title: 'A handler declares something that means nothing there (it is served all the same)',
      next: 'Write the word that was meant, or take it out.',
    },
    HANDLER_CASE_CLASH: {
      title: 'Two types differ in upper and lower case only',
      next: 'Rename one of them.',
    },
  },
  'A worker as a service': {
    SERVICE_UNFIT: {
      exit: 'usage',
      title: 'What the service is to use is not there, or its user cannot reach it',
      next: 'Do what the message says; `--dry-run` shows what would be written.',
    },
    SERVICE_NEEDS_ROOT: {
      exit: 'usage',
      title: 'A service of the machine is installed by root only',
      next: 'Run the command that is printed, or install one of your own with `--user`.',
    },
    SERVICE_FOREIGN: {
      exit: 'conflict',
      title: 'A file that is not ours lies where the service would be written',
      next: 'Move it away, or give the service another `--name`.',
    },
    SERVICE_NONE: {
      exit: 'not-found',
      title: 'There is no such service',
      next: 'Install it with `interlock worker service install`, or give its `--name` or `--user`.',
    },
    SERVICE_MANAGER_ABSENT: {
      exit: 'service-failed',
      title: 'This machine has no service manager that we know',
      next: 'See [a worker as a service](service.md) for what to do with others.',
    },
    SERVICE_MANAGER_FAILED: {
      exit: 'service-failed',
      title: 'The service manager refused, or the service did not come up',
      next: 'See its log: `interlock worker service logs`.',
    },
    SERVICE_OWES: {
      exit: 'conflict',
      title: 'Reports in the spool are not delivered yet: it is not removed',
      next: 'Start the service again until they are, or look at them with `interlock spool list`.',
    },
  },
  'The producers’ outbox': {
    OUTBOX_WAITING: {
      title: 'A stored submission waits for its turn',
      next: 'Nothing: it is sent by itself while a producer with this outbox runs.',
    },
    OUTBOX_FULL: {
      exit: 'input-output',
      title: 'Too much waits; nothing was stored',
      next: 'See why: `interlock tasks outbox list`.',
    },
    OUTBOX_UNWRITABLE: {
      exit: 'input-output',
      title: 'The disk refused, and the control plane did not take it either',
      next: 'Nothing was stored: submit it again with `details.idempotencyKey`.',
    },
    OUTBOX_UNREADABLE: {
      exit: 'input-output',
      title: 'The outbox cannot be read',
      next: 'Check its owner and mode, and the limit of open files.',
    },
    OUTBOX_UNSAFE: {
      exit: 'input-output',
      title: 'Others could read or change the outbox',
      next: 'Give a folder that is not there yet.',
    },
    OUTBOX_CLOSED: {
      title: '`submit` after `close()`; nothing was stored',
      next: 'Make another producer.',
    },
  },
  'Updating the executable': updateCodes,
  'The status of a worker': statusCodes,
  'Starting a control plane, and `interlock dev`': startCodes,
} as const satisfies Record<string, Record<string, ClientCode>>;
