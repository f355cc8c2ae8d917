// Package language holds in which language built-in prompts are written.
//
// Package adk lets users set it, and everything with a prompt selects by it.
// It must never influence anything but the text of prompts.
package language

import (
	"fmt"
	"sync/atomic"
)

// Language is a language of prompts.
type Language uint8

// The languages that every prompt is written in.
const (
	English Language = 0
	Chinese Language = 1
)

var current atomic.Uint32

// Set chooses the language of the process.
func Set(l Language) error {
	if l != English && l != Chinese {
		return fmt.Errorf("invalid language: %v", l)
	}
	current.Store(uint32(l))
	return nil
}

// Select returns the text in the language of the process.
func Select(english, chinese string) string {
	if Language(current.Load()) == Chinese {
		return chinese
	}
	return english
}
