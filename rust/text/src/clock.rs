//! `strftime_now`: the local time in the C library's words, which are also Python's.

use std::mem::MaybeUninit;

/// A moment of local time: the numbers of C's `struct tm`, without its pointer.
#[derive(Clone, Copy)]
pub struct Moment {
    year: i32,  // since 1900
    month: i32, // 0 to 11
    day: i32,
    hour: i32,
    minute: i32,
    second: i32,
    weekday: i32, // from Sunday
    yearday: i32, // 0 to 365
    summer: i32,
    microseconds: u32,
}

impl Moment {
    pub fn now() -> Result<Self, String> {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_err(|_| "the clock stands before 1970".to_string())?;
        let seconds = since.as_secs() as libc::time_t;
        let mut tm = MaybeUninit::<libc::tm>::zeroed();
        // SAFETY: both pointers are valid; all-zero bytes are a valid tm.
        let tm = unsafe {
            if libc::localtime_r(&seconds, tm.as_mut_ptr()).is_null() {
                return Err("the local time is not known".to_string());
            }
            tm.assume_init()
        };
        Ok(Moment {
            microseconds: since.subsec_micros(),
            ..Moment::from_tm(&tm)
        })
    }

    fn from_tm(tm: &libc::tm) -> Self {
        Moment {
            year: tm.tm_year,
            month: tm.tm_mon,
            day: tm.tm_mday,
            hour: tm.tm_hour,
            minute: tm.tm_min,
            second: tm.tm_sec,
            weekday: tm.tm_wday,
            yearday: tm.tm_yday,
            summer: tm.tm_isdst,
            microseconds: 0,
        }
    }

    fn to_tm(self) -> libc::tm {
        // SAFETY: all-zero bytes are a valid tm.
        let mut tm: libc::tm = unsafe { MaybeUninit::zeroed().assume_init() };
        tm.tm_year = self.year;
        tm.tm_mon = self.month;
        tm.tm_mday = self.day;
        tm.tm_hour = self.hour;
        tm.tm_min = self.minute;
        tm.tm_sec = self.second;
        tm.tm_wday = self.weekday;
        tm.tm_yday = self.yearday;
        tm.tm_isdst = self.summer;
        tm
    }

    /// `2024-07-04T09:05:07`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = || format!("expected a time such as 2024-07-04T09:05:07, found {text:?}");
        let shape = text
            .bytes()
            .map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
        if !shape.eq(b"0000-00-00T00:00:00".iter().copied()) {
            return Err(bad());
        }
        let number = |from: usize, to: usize| text[from..to].parse::<i32>().map_err(|_| bad());
        // SAFETY: all-zero bytes are a valid tm.
        let mut tm: libc::tm = unsafe { MaybeUninit::zeroed().assume_init() };
        tm.tm_year = number(0, 4)? - 1900;
        tm.tm_mon = number(5, 7)? - 1;
        tm.tm_mday = number(8, 10)?;
        tm.tm_hour = number(11, 13)?;
        tm.tm_min = number(14, 16)?;
        tm.tm_sec = number(17, 19)?;
        let asked = (tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        // SAFETY: `tm` is valid. timegm fills in the day of the week and of the year, and moves a
        // date that does not exist to one that does.
        unsafe { libc::timegm(&mut tm) };
        if asked != (tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec) {
            return Err(bad());
        }
        Ok(Moment::from_tm(&tm))
    }

    /// Python's `datetime.strftime` for a time without a zone: the C library's directives, %f for
    /// microseconds, and nothing for %z and %Z.
    pub fn format(&self, format: &str) -> String {
        let mut out = String::with_capacity(format.len() + 16);
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let flags = rest[1..]
                .find(|c: char| !matches!(c, '-' | '_' | '^' | '#' | 'E' | 'O' | '0'..='9'))
                .map_or(rest.len(), |flags| flags + 1);
            let end = rest[flags..]
                .chars()
                .next()
                .map_or(flags, |letter| flags + letter.len_utf8());
            out.push_str(&self.directive(&rest[..end]));
            rest = &rest[end..];
        }
        out.push_str(rest);
        out
    }

    fn directive(&self, directive: &str) -> String {
        match directive {
            "%f" => return format!("{:06}", self.microseconds),
            "%z" | "%Z" => return String::new(),
            _ => {}
        }
        // A width of more digits than this only asks for a wall of padding.
        const LONGEST: usize = 8;
        let Ok(format) = std::ffi::CString::new(directive) else {
            return directive.to_string();
        };
        if !directive.is_ascii() || directive.len() > LONGEST {
            return directive.to_string();
        }
        let tm = self.to_tm();
        let mut buffer = [0u8; 256];
        // SAFETY: the buffer is writable for its length, the format ends with NUL, `tm` is valid.
        let size = unsafe {
            libc::strftime(
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                format.as_ptr(),
                &tm,
            )
        };
        String::from_utf8_lossy(&buffer[..size]).into_owned()
    }
}
