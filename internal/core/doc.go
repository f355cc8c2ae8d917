// Package core is the interrupt and resume machinery that graphs, tools and agents share.
//
// It knows three things: where the running code is (an [Address], carried by the context as a parent-linked [Frame]),
// how code says that it stops and wants to continue later (an [InterruptSignal], a tree whose leaves are the root
// causes), and what a resumed run holds for an address (a tracker, one per root run).
// It must never know what runs at an address, and it must cost a run that is not resumed nothing but the frame.
package core
