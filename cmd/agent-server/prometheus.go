package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// measured shows a gateway's metrics to Prometheus. It is the gateway's Metrics.
type measured struct{ registry *prometheus.Registry }

// newMeasured makes one with a registry of its own.
func newMeasured() measured { return measured{prometheus.NewRegistry()} }

// handler answers /metrics.
func (m measured) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Counter implements gateway.Metrics.
func (m measured) Counter(name, help string, labels ...string) func(float64, ...string) {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return func(by float64, values ...string) { v.WithLabelValues(values...).Add(by) }
}

// Gauge implements gateway.Metrics.
func (m measured) Gauge(name, help string, labels ...string) func(float64, ...string) {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return func(by float64, values ...string) { v.WithLabelValues(values...).Add(by) }
}

// GaugeFunc implements gateway.Metrics.
func (m measured) GaugeFunc(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Histogram implements gateway.Metrics.
func (m measured) Histogram(name, help string, bounds []float64) func(float64) {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds})
	m.registry.MustRegister(h)
	return h.Observe
}
