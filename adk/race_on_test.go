//go:build race

package adk

// raceEnabled: the race detector makes pools forget, so that allocations cannot be counted.
const raceEnabled = true
