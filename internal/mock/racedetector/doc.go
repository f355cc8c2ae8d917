// Package racedetector reports whether tests were built with the race detector. It makes pools forget, so that
// allocations cannot be counted, and everything some six times slower.
package racedetector
