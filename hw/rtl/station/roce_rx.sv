// Reads what the receivers of our QPs say: acknowledgements of RC and CNPs. Checks every length, checksum and ICRC, and who sent it to
// which QP; what is wrong is dropped and counted by its first reason. One beat a clock; stalls only while events wait.
module roce_rx
  import crc32_pkg::*;
  import roce_pkg::*;
  import roce_rx_pkg::*;
#(
    parameter logic [23:0] FirstQpn = 24'd2  // QP number of the first QP in the table
) (
    input logic clk,
    input logic rst,

    // Frames of CLASS_ROCE without VLAN tag and FCS, as rx_filter has judged them
    input  logic [63:0] s_axis_tdata,
    input  logic [ 7:0] s_axis_tkeep,
    input  logic        s_axis_tlast,
    input  logic        s_axis_tvalid,
    output logic        s_axis_tready,

    // What the table knows of a QP, at once or a cycle after its index
    output logic [ 7:0] index_o,
    input  logic        enabled_i,  // 0 also outside the table
    input  logic        rc_i,
    input  logic [31:0] peer_ip_i,
    input  logic [15:0] pkey_i,

    output event_t m_axis_event_tdata,
    output logic   m_axis_event_tvalid,
    input  logic   m_axis_event_tready,

    output logic [ROCE_DROPS-1:0] dropped_o  // pulse, by reason
);

  localparam int unsigned HEADER_W = $bits(base_t) + $bits(aeth_t);
  localparam int unsigned HEADER_BEATS = (HEADER_W + 63) / 64;
  localparam int unsigned IP_AT = ETH_BYTES;
  localparam int unsigned UDP_AT = IP_AT + IP_BYTES;
  localparam int unsigned BTH_AT = UDP_AT + $bits(udp_t) / 8;
  localparam int unsigned LENGTH_BEAT = (IP_AT + 3) / 8;  // the total length ends there
  localparam int unsigned BEHIND_LENGTH = 8 * (LENGTH_BEAT + 1) - IP_AT;  // bytes of the IPv4 packet, with that beat
  localparam int unsigned SHORTEST = BASE_BYTES - ETH_BYTES + ICRC_BYTES;
  localparam int unsigned BEAT_W = $clog2(HEADER_BEATS + 1);

  // CRC-32: row r has the bits of a beat whose sum is bit r of the state behind it, from state 0.
  function automatic logic [31:0][63:0] beat_matrix();
    logic [31:0][63:0] rows;
    crc_t column;
    column = 32'd1;
    for (int unsigned bit_from_end = 1; bit_from_end <= 64; bit_from_end++) begin
      column = forward(column);
      for (int unsigned r = 0; r < 32; r++) rows[r][64-bit_from_end] = column[r];
    end
    return rows;
  endfunction

  // The state behind a right ICRC and `n_bytes` zeros: an ICRC is the state's complement.
  function automatic crc_t right_state(input int unsigned n_bytes);
    crc_t state;
    state = '1;
    for (int unsigned k = 0; k < 32 + 8 * n_bytes; k++) state = forward(state);
    return state;
  endfunction

  localparam logic [31:0][63:0] ROWS = beat_matrix();
  localparam crc_t SEED = 32'hdebb20e3;  // the state after 8 bytes of ones, in place of the InfiniBand LRH
  // Packets are whole words: they end 6 or 2 bytes behind the begin of a beat, by the parity of their words.
  localparam crc_t RIGHT_EVEN = right_state(2);
  localparam crc_t RIGHT_ODD = right_state(6);

  // Bytes that routers may change count as ones.
  function automatic logic is_variant(input int unsigned at);
    return at == IP_AT + 1 || at == IP_AT + 8 || at == IP_AT + 10 || at == IP_AT + 11 ||  // TOS, TTL, checksum
    at == UDP_AT + 6 || at == UDP_AT + 7 || at == BTH_AT + 4;  // checksum, resv8a
  endfunction

  function automatic logic [63:0] in_wire_order(input logic [63:0] lanes);
    for (int unsigned k = 0; k < 8; k++) in_wire_order[8*(7-k)+:8] = lanes[8*k+:8];
  endfunction

  // Stage 1: the header as far as it has come; this beat as the ICRC counts it, and as the header's checksum does.
  base_t base;
  aeth_t aeth;
  logic [HEADER_BEATS-1:0][63:0] header_q;  // first byte on the left
  logic [64*HEADER_BEATS-HEADER_W-1:0] behind;
  logic [BEAT_W-1:0] beat_q;  // stays at HEADER_BEATS
  logic [16:0] left, left_q;  // bytes of the packet that are in this beat and behind it
  logic accept, counts, whole, last1_q, first1_q, counts1_q, whole1_q;
  logic [63:0] wire_beat, counted, counted1_q;
  logic [3:0][15:0] words, words1_q;
  logic [15:0] total_length;

  assign accept = s_axis_tvalid && s_axis_tready;
  assign {base, aeth, behind} = header_q;
  assign wire_beat = in_wire_order(s_axis_tdata);
  assign total_length = wire_beat[8*(BEHIND_LENGTH-4)+:16];

  // The first beats are always counted: a packet that ended there is none.
  assign left = beat_q <= BEAT_W'(LENGTH_BEAT) ? 17'd8 : left_q;
  assign counts = left != '0;

  always_comb begin
    whole = beat_q > BEAT_W'(LENGTH_BEAT);
    counted = '0;
    words = '0;
    for (int unsigned k = 0; k < 8; k++) begin
      if (left > 17'(k)) begin
        counted[8*k+:8] = s_axis_tdata[8*k+:8];
        if (!s_axis_tkeep[k]) whole = 1'b0;
      end
    end
    if (left > 17'd8) whole = 1'b0;
    for (int unsigned b = 0; b < HEADER_BEATS; b++) begin
      if (beat_q == BEAT_W'(b)) begin
        for (int unsigned k = 0; k < 8; k++) begin
          if (8 * b + k < IP_AT) counted[8*k+:8] = 8'h00;
          else if (is_variant(8 * b + k)) counted[8*k+:8] = 8'hff;
          if (8 * b + k >= IP_AT && 8 * b + k < IP_AT + 4) counted[8*k+:8] ^= SEED[8*((8*b+k-IP_AT)%4)+:8];
          if (k % 2 == 0 && 8 * b + k >= IP_AT && 8 * b + k < UDP_AT) words[k/2] = wire_beat[8*(6-k)+:16];
        end
      end
    end
  end

  always_ff @(posedge clk) begin
    if (accept) begin
      for (int unsigned b = 0; b < HEADER_BEATS; b++) begin
        if (beat_q == BEAT_W'(b)) header_q[HEADER_BEATS-1-b] <= wire_beat;
      end
      if (s_axis_tlast) beat_q <= '0;
      else if (beat_q != BEAT_W'(HEADER_BEATS)) beat_q <= beat_q + 1'b1;
      if (beat_q == BEAT_W'(LENGTH_BEAT)) left_q <= {1'b0, total_length} - 17'(BEHIND_LENGTH);
      else left_q <= left_q > 17'd8 ? left_q - 17'd8 : '0;
    end
    last1_q <= accept && s_axis_tlast;
    first1_q <= beat_q == '0;
    counts1_q <= accept && counts;
    whole1_q <= whole;
    counted1_q <= counted;
    words1_q <= words;
    if (rst) begin
      beat_q <= '0;
      last1_q <= 1'b0;
      counts1_q <= 1'b0;
    end
  end

  // Stage 2: the CRC behind the last byte of the packet and the zeros that fill its beat; the checksum's sum.
  crc_t crc, crc_q;
  logic [17:0] words2_q;
  logic [19:0] sum_q;  // a cycle later: the IPv4 header ends beats before its packet
  logic last2_q, whole2_q, first2_q, counts2_q;

  always_comb begin
    for (int unsigned r = 0; r < 32; r++) crc[r] = ^(ROWS[r] & (counted1_q ^ {32'd0, first1_q ? '0 : crc_q}));
  end

  always_ff @(posedge clk) begin
    if (counts1_q) crc_q <= crc;
    words2_q <= 18'(words1_q[0]) + 18'(words1_q[1]) + 18'(words1_q[2]) + 18'(words1_q[3]);
    first2_q <= first1_q;
    counts2_q <= counts1_q;
    if (counts2_q) sum_q <= (first2_q ? '0 : sum_q) + 20'(words2_q);
    last2_q  <= last1_q;
    whole2_q <= whole1_q;
    if (rst) last2_q <= 1'b0;
  end

  // Stage 3: one answer a question. The next frame's first beats do not reach the fields that are looked at.
  logic [ROCE_DROPS-1:0] wrong, wrong_q;
  logic [16:0] folded;
  logic [23:0] offset;
  logic [15:0] size;
  logic is_cnp, known_syndrome, last3_q;

  assign offset = base.bth.dest_qpn - FirstQpn;
  assign index_o = offset[7:0];
  assign is_cnp = base.bth.opcode == OP_CNP;
  assign size = is_cnp ? 16'(SHORTEST + CNP_BYTES) : 16'(SHORTEST + AETH_BYTES);
  assign folded = 17'(sum_q[15:0]) + 17'(sum_q[19:16]);
  assign known_syndrome = !aeth.reserved && (aeth.kind == AETH_ACK || aeth.kind == AETH_RNR ||
      (aeth.kind == AETH_NAK && aeth.value < 5'(NAKS)));

  always_comb begin
    wrong[ROCE_LENGTH] = !whole2_q || base.ip.total_length < 16'(SHORTEST) || base.ip.total_length[1:0] != '0 ||
        base.udp.length != base.ip.total_length - 16'(IP_BYTES);
    wrong[ROCE_CHECKSUM] = folded != 17'h0ffff;
    wrong[ROCE_ICRC] = crc_q != (base.ip.total_length[2] ? RIGHT_ODD : RIGHT_EVEN);
    wrong[ROCE_VERSION] = base.bth.version != '0;
    wrong[ROCE_OPCODE] = base.bth.opcode != OP_ACKNOWLEDGE && !is_cnp;
    wrong[ROCE_SIZE] = base.ip.total_length != size || base.bth.pad != '0;
    wrong[ROCE_QP] = offset[23:8] != '0 || !enabled_i;
    wrong[ROCE_SERVICE] = !is_cnp && !rc_i;
    wrong[ROCE_SOURCE] = base.ip.src != peer_ip_i;
    wrong[ROCE_PKEY] = base.bth.pkey[14:0] != pkey_i[14:0] || !(base.bth.pkey[15] || pkey_i[15]);
    wrong[ROCE_SYNDROME] = !is_cnp && !known_syndrome;
  end

  // Stage 4: the first reason, or the event.
  event_t event_d;
  logic event_valid, event_ready;

  always_comb begin
    event_d = '{qp: index_o, kind: CNP, psn: base.bth.psn, value: '0, msn: '0};
    if (!is_cnp) begin
      event_d.value = aeth.value;
      event_d.msn = aeth.msn;
      unique case (aeth.kind)
        AETH_ACK: event_d.kind = ACK;
        AETH_RNR: event_d.kind = RNR;
        default: event_d.kind = event_kind_e'(3'(NAK_SEQUENCE) + aeth.value[2:0]);
      endcase
    end
  end

  always_ff @(posedge clk) begin
    wrong_q   <= wrong;
    last3_q   <= last2_q;
    dropped_o <= last3_q ? wrong_q & (~wrong_q + 1'b1) : '0;
    if (rst) begin
      last3_q   <= 1'b0;
      dropped_o <= '0;
    end
  end

  assign event_valid   = last3_q && wrong_q == '0;
  assign s_axis_tready = event_ready;

  axis_reg #(
      .DataW($bits(event_t))
  ) u_event (
      .clk,
      .rst,
      .s_axis_tdata (event_d),
      .s_axis_tvalid(event_valid),
      .s_axis_tready(event_ready),
      .m_axis_tdata (m_axis_event_tdata),
      .m_axis_tvalid(m_axis_event_tvalid),
      .m_axis_tready(m_axis_event_tready)
  );

  logic unused;
  assign unused = ^{base, behind};

`ifndef SYNTHESIS
  // An event comes three cycles behind its frame's last beat, the next one has eight beats: while the first finds no room behind it,
  // that one is not yet in.
  always @(posedge clk) begin
    assert (rst || !event_valid || event_ready)
    else $error("%m: no room for an event");
  end
`endif

endmodule
