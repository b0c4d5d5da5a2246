/** F23 against the executable: NODE_EXTRA_CA_CERTS, the system's authorities and proxies are Node's and ours, all in one file. */
import '../e2e/way-out.ci.test.ts';
