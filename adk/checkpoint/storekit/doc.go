// Package storekit is for those who write a store of runs, a runs.Store, on a database of theirs. It has what
// is the same in every store: the states of a run and their transitions ([Row]), lists ([Listing]), and the errors.
//
// A store keeps for each run a row, a checkpoint and a journal. To change a run it gets the row for itself, by a lock,
// in a transaction, or by comparing a version when it writes, calls one of the row's methods with its clock, and writes
// the row back together with what else changes, in one atomic step. The stores of Weft do nothing else. Package
// checkpointtest tests that a store does it right.
package storekit
