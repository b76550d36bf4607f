-- arrived.lua reports whether a delivery is marked.
--
-- ARGV[3]  GUID of the delivery
-- ARGV[4]  its fingerprint
--
-- Returns 1 if it is, else 0.

return marked(ARGV[3], ARGV[4]) and 1 or 0
