package fakemodel

import (
	"fmt"
	"slices"
	"strconv"
)

// args are a marker's arguments while a builder takes them out, one by one. The first
// error stays; done reports it, or an argument that nobody took.
type args struct {
	name   string
	values map[string]string
	err    error
}

// text takes an argument, or the default when it was not given.
func (a *args) text(key, def string) string {
	value, given := a.values[key]
	if !given {
		return def
	}
	delete(a.values, key)
	return value
}

// number takes an argument that counts something; it has to be 0 or more. What cannot be
// read gives the default, so that a builder can go on until done reports the error.
func (a *args) number(key string, def int) int {
	value, err := strconv.Atoi(a.text(key, strconv.Itoa(def)))
	if err == nil && value < 0 {
		err = fmt.Errorf("%d is below 0", value)
	}
	if err != nil {
		a.fail(fmt.Errorf("%s: %w", key, err))
		return def
	}
	return value
}

// input takes an argument that has to be a JSON object, as it was written.
func (a *args) input(key string) string {
	value := a.text(key, "{}")
	if _, err := members(value); err != nil {
		a.fail(fmt.Errorf("%s: %w", key, err))
	}
	return value
}

// object takes an argument that has to be a JSON object, for its members.
func (a *args) object(key string) object {
	o, err := members(a.text(key, "{}"))
	if err != nil {
		a.fail(fmt.Errorf("%s: %w", key, err))
	}
	return o
}

// fail keeps the first error.
func (a *args) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// done returns what was wrong with the arguments.
func (a *args) done() error {
	if a.err != nil || len(a.values) == 0 {
		return a.err
	}
	var left []string
	for key := range a.values {
		left = append(left, key)
	}
	slices.Sort(left)
	return fmt.Errorf("unknown keys %q", left)
}
