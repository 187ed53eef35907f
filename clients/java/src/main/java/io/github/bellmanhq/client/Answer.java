package io.github.bellmanhq.client;

/**
 * An answer whose status says something.
 *
 * @param status 201: it was made. 200: it was there already.
 * @param body what it is now
 */
public record Answer<T>(int status, T body) {
    /** Whether this call made it. */
    public boolean created() {
        return status == 201;
    }
}
