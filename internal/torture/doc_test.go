// Package torture runs several bellman processes on one database, lets
// processes, network and database fail in every way that it knows, and checks
// what is promised from outside: by what was answered 201, by what receivers
// saw, and by the log of attempts that is left. It is tests alone.
//
//   - A cluster is the processes, each behind a proxy of its own (process_test.go,
//     node_test.go, proxy_test.go).
//   - One node takes messages of two brokers, which are killed too (broker_test.go,
//     brokers_test.go, publisher_test.go).
//   - The databases are private: in directories of their own, on loopback, so that
//     they can be killed (database_test.go and what follows it).
//   - Creators keep a ledger of what was accepted; receivers write down what they
//     see before they answer (creator_test.go, receiver_test.go).
//   - Trouble comes in an order that a seed decides, and is written into a journal
//     (trouble_test.go, journal_test.go).
//   - At the end promises are checked, and each delivery that is in no log must be
//     explained by an entry of the journal (promises_test.go).
//
// Without arguments each run is short; make torture gives them minutes, adds the
// databases that fail over by themselves, and prints figures.
package torture
