// Package e2e runs the real agent CLIs, each at the exact version of package-lock.json,
// against scripted model servers. It holds tests only.
//
// It decides that what the translators believe about a CLI is still so, and that the whole
// gateway keeps its promises with it: TestScenarios plays one table of scenarios a harness
// through the command itself, verifies each stream, and looks for processes that are left.
// With -record the same scenarios make the fixtures. It refuses to know
// the network: the test binary starts itself again in a network namespace that has
// loopback alone, and a test that needs a CLI does not run outside of one.
//
// install.sh fetches the CLIs; nothing is fetched while tests run. Without a CLI or a
// namespace the tests that need it are skipped and say why. With AGENT_SERVER_E2E_REQUIRE=1
// they fail instead, so that a build server cannot pass by skipping.
// AGENT_SERVER_E2E_TRANSCRIPTS=DIR keeps what the CLIs read and wrote, a file a process.
// AGENT_SERVER_E2E_BINARY=FILE tries that command instead of one built for the purpose.
//
// Tests may run at once: each has its own model server, home and working folder.
package e2e
