"""Months: their names in the languages of the pages that were read, each with its number, and a table for kernels."""

from __future__ import annotations

import numpy as np

_NAMES = """
1 january jan januar jänner jän janvier janv januari enero ene gennaio gen janeiro stycznia styczeń sty
1 ocak oca января янв январь січня ledna leden januára januarie ian ianuarie tammikuu tammikuuta jannar
1 siječnja ιανουαρίου ιαν január yanvar يناير
2 february feb februar feber février févr fév fevrier februari febrero febbraio fevereiro fev lutego luty
2 lut şubat şub февраля фев февраль лютого února únor február februára februarie helmikuuta veljače
2 φεβρουαρίου φεβ pebruari فبراير
3 march mar märz mär maerz mrz mars maart mrt maret marzo março marca marzec mart марта мар март березня
3 března březen március márc martie maaliskuuta ožujka μαρτίου μαρ مارس
4 april apr avril avr abril abr aprile kwietnia kwiecień kwi nisan nis апреля апр апрель квітня dubna duben
4 április ápr aprilie huhtikuuta travnja απριλίου απρ أبريل ابريل
5 may mai mei mayo maggio mag maio maja maj mayıs мая май травня května květen május máj toukokuuta svibnja
5 μαΐου μαι مايو
6 june jun juni juin junio giugno giu junho czerwca czerwiec cze haziran haz июня июн июнь червня června
6 červen június jún iunie kesäkuuta lipnja ιουνίου ιουν يونيو
7 july jul juli juillet juil julio luglio lug julho lipca lipiec lip temmuz tem июля июл июль липня
7 července červenec július júl iulie heinäkuuta srpnja ιουλίου ιουλ يوليو
8 august aug août aout agosto ago augustus agustus sierpnia sierpień sie ağustos ağu августа авг август
8 серпня srpna srpen augusztus elokuuta kolovoza αυγούστου αυγ augusti أغسطس اغسطس
9 september sep sept septembre septiembre setiembre settembre set setembro wrzesień września wrz eylül eyl
9 сентября сен сент сентябрь вересня září szeptember szept septembrie syyskuuta rujna σεπτεμβρίου σεπ
9 سبتمبر
10 october oct oktober okt octobre octubre ottobre ott outubro out października październik paź ekim eki
10 октября окт октябрь жовтня října říjen október octombrie lokakuuta οκτωβρίου οκτ أكتوبر اكتوبر
11 november nov novembre noviembre novembro listopada listopad lis kasım kas ноября ноя ноябрь листопада
11 listopadu noiembrie marraskuuta studenoga νοεμβρίου νοε nopember نوفمبر
12 december dec dezember dez décembre déc decembre diciembre dic dicembre dezembro grudnia grudzień gru
12 aralık ara декабря дек декабрь грудня prosince prosinec decembrie joulukuuta prosinca δεκεμβρίου δεκ
12 desember des ديسمبر
"""
"""A month's number and its names: in full, as sites cut them, and as they stand in a date."""
MONTHS = {name: int(line.split()[0]) for line in _NAMES.split("\n")[1:-1] for name in line.split()[1:]}
"""Each name in lower case, and its number."""

LONGEST = max(len(name) for name in MONTHS if name.isascii())
"""Letters of the names that are in ASCII; the shortest have three."""


def _slots(size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the ASCII names as numbers of five bits a letter, at their remainder by ``size`` or behind; 0: free."""
    slots = [0] * size
    for name in MONTHS:
        if name.isascii():
            number = sum((ord(letter) & 31) << (5 * at) for at, letter in enumerate(reversed(name)))
            at = number % size
            while slots[at]:
                at = (at + 1) % size
            slots[at] = number
    return np.array(slots, np.int64)


SLOTS = _slots(512)
