// Package chaostest does to workers what production does to them, and checks from outside that nothing was lost, done
// twice or mixed up.
//
// [Run] has processes execute runs of two tenants on one store: runs that pay, ask people, sleep, wait for other runs, share
// keys and are turns of conversations (load.go). Meanwhile it kills, freezes, drains and replaces the processes, disturbs
// their network, and stops and continues runs (disturb.go). All payments, and all that tools are told, go to a bank in the
// process of the test (bank.go), which knows by itself what was asked of it, by whom, in which order. In the end that, the
// answers that were taken, and what the store says are held against what should have come out (oracle.go).
//
// The environment says how much of it there is: WEFT_CHAOS for how long, such as 2m or 8h, in rounds, each on a new store;
// WEFT_CHAOS_SEED with which seed the first round begins; 1 without it. Without WEFT_CHAOS it is one small round.
package chaostest
