//go:build race

package turncost

// raceEnabled: the race detector makes pools forget, so that allocations cannot be counted.
const raceEnabled = true
