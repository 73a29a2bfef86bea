#!/bin/sh
POD_NAME=$1
shift
exec "${KUBECTL:-kubectl}" exec "${POD_NAME}" -- /bin/sh -c "$*"
