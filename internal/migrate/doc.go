// Package migrate moves everything of one store to another: tasks in all states with
// their attempts, documents and audit records. What it needs of the two is the
// contract of store.Store alone.
//
// A move is one thing done again and again until nothing differs: both stores are
// read side by side, newest first, and what the target lacks is written there. So
// a move that was killed is simply begun again. In order:
//
//	copying   the source is marked; its servers may go on, if its store lets others in
//	closing   the servers of the source must stop, and none starts on it again
//	(fence)   the shards of both stores are claimed, so that no old owner writes an outcome
//	(passes)  until one finds nothing that differs
//	moved     the source says where its tasks went; then the target's mark is taken away
//
// From the first word written to it until the last, the target has a mark with
// which no server starts (Refuse): so no task is ever fired from two stores.
package migrate
