// Package migrate moves everything from one store to another: tasks in all states with their
// attempts, documents and audit records. It uses the methods of store.Store only.
//
// A move repeats one pass until nothing differs: it reads both stores side by side, newest tasks
// first, and writes to the target what the target lacks. After a crash, start the move again: it
// continues. The steps are:
//
//	copying   the source is marked; its servers may continue if its store allows a second process
//	closing   the servers of the source must stop, and none can start on it again
//	(fence)   the shards of both stores are claimed, so that no former owner records an outcome
//	(passes)  until one pass finds no difference
//	moved     the source names the store that has its tasks now; then the target's mark is removed
//
// The target has a mark from the first write to the last. No server starts on a marked store
// (Refuse), and no running one joins it again, so no task is attempted from two stores.
//
// If the last owner of a shard of the source died, the shards of both stores are left as those of a
// dead node. The engine that claims them next announces each attempt that may have been in flight.
package migrate
