{{- define "compat.labels" -}}
app: {{ .Release.Name }}
app.kubernetes.io/name: compat
app.kubernetes.io/part-of: compat
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* A value of settings as text. Helm reads numbers as float64, whose text is 1e+06 for a million. */}}
{{- define "compat.text" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end }}
{{- end }}
