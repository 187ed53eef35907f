// Package torture runs several bellman processes on one database, and makes processes, network and
// database fail in every way that it knows. Then it checks the promises from outside: the answers
// 201, the deliveries at receivers, and the attempt logs that are left. It consists of tests only.
//
//   - A cluster is the processes, each behind its own proxy (process_test.go, node_test.go,
//     proxy_test.go).
//   - One node takes messages from two brokers, which are killed too (broker_test.go, brokers_test.go,
//     publisher_test.go).
//   - The databases are private, in their own directories and on loopback, so that they can be killed
//     (database_test.go, and a file for each kind).
//   - Creators keep a ledger of accepted tasks. Receivers record each delivery before they answer
//     (creator_test.go, receiver_test.go).
//   - A seed decides the order of troubles. Each trouble is recorded in a journal (trouble_test.go,
//     journal_test.go).
//   - At the end the promises are checked. An entry of the journal must explain each delivery that is
//     not logged (promises_test.go).
//
// Without arguments each run is short. make torture gives them minutes, adds databases that fail
// over by themselves, and prints figures.
package torture
