{{- define "compat.labels" -}}
app: {{ .Release.Name }}
app.kubernetes.io/name: compat
app.kubernetes.io/part-of: compat
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
