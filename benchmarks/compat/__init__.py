"""Programs written for other libraries, and chat servers, on those libraries and on merganser."""
