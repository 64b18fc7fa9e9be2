// Appends the ICRC (IBA 7.8.1, annex A17) to packets that end before it: Ethernet, IPv4, UDP, BTH, ..., pad. To poisoned
// ones its inverse.
// Packets end 2 bytes behind a multiple of 4; where the four bytes do not fit the last beat, one beat follows.
// Three cycles from input to output; nothing is held back while the sink is ready.
// Every GROUP_W bits of data have their own register slice and their own copy of the control, and so have the CRC and what is beside
// the data, so that none drives more; all copies are always equal.
module roce_icrc
  import roce_pkg::*;
  import crc32_pkg::*;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  logic         [DataW-1:0] s_axis_tdata,
    input  logic         [KeepW-1:0] s_axis_tkeep,
    input  logic                     s_axis_tlast,
    input  packet_user_t             s_axis_tuser,
    input  logic                     s_axis_tvalid,
    output logic                     s_axis_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  localparam crc_t SEED = 32'hdebb20e3;  // the state after 8 bytes of ones, in place of the InfiniBand LRH
  localparam int unsigned WORDS = DataW / 32;
  localparam int unsigned WORD_W = $clog2(WORDS);
  localparam int unsigned LOW_W = WORD_W < 2 ? 0 : 2;  // bits of the word count undone in the second stage
  localparam int unsigned HIGH_W = WORD_W - LOW_W;  // and in the third
  localparam int unsigned GROUP_W = 64;
  localparam int unsigned GROUPS = DataW / GROUP_W;
  localparam int unsigned START_BEATS = (BASE_BYTES + VLAN_BYTES + KeepW - 1) / KeepW;  // with bytes that do not count

  if (DataW < 64 || DataW > 1024 || (DataW & (DataW - 1)) != 0) begin : gen_check
    $error("%m: DataW = %0d must be a power of two, 64 to 1024", DataW);
  end

  // Row r: the data bits whose sum is bit r of the state after one beat from state 0. A state is added to the first 32 bits.
  function automatic logic [31:0][DataW-1:0] data_matrix();
    logic [31:0][DataW-1:0] rows;
    crc_t column;
    column = 32'd1;
    for (int unsigned bit_from_end = 1; bit_from_end <= DataW; bit_from_end++) begin
      column = forward(column);
      for (int unsigned r = 0; r < 32; r++) rows[r][DataW-bit_from_end] = column[r];
    end
    return rows;
  endfunction

  localparam logic [31:0][DataW-1:0] DATA_ROWS = data_matrix();

  // Taking zeros back: LOW_BACK[u] 4u + 2 bytes of them, HIGH_BACK[u] as many times 16 (4 << LOW_W). A bus with few words leaves
  // all of it to HIGH_BACK.
  typedef matrix_t [(1<<LOW_W)-1:0] low_back_t;
  typedef matrix_t [(1<<HIGH_W)-1:0] high_back_t;
  function automatic low_back_t low_back();
    for (int unsigned u = 0; u < 1 << LOW_W; u++) low_back[u] = backward_matrix(4 * u + 2);
  endfunction
  function automatic high_back_t high_back();
    for (int unsigned u = 0; u < 1 << HIGH_W; u++) begin
      high_back[u] = backward_matrix((4 << LOW_W) * u + (LOW_W == 0 ? 2 : 0));
    end
  endfunction
  localparam low_back_t LOW_BACK = low_back();
  localparam high_back_t HIGH_BACK = high_back();

  // Offsets from the IPv4 header on of the bytes that routers may change: they count as ones.
  function automatic logic is_variant(input int offset);
    localparam int UDP = IP_BYTES;
    localparam int BTH = UDP + $bits(udp_t) / 8;
    return offset == 1 || offset == 8 || offset == 10 || offset == 11 ||  // TOS, TTL, checksum
    offset == UDP + 6 || offset == UDP + 7 || offset == BTH + 4;  // checksum, resv8a
  endfunction

  function automatic int ip_offset(input int unsigned beat, input int unsigned lane, input int unsigned tag);
    return int'(beat * KeepW + lane) - int'(ETH_BYTES + tag * VLAN_BYTES);
  endfunction

  // Stage 0: the beat as it counts, the Ethernet header as leading zeros of a state 0, the seed added behind it.
  logic [DataW-1:0] counted;
  logic [GROUPS:0][START_BEATS:0] at_q;  // which beat it is, one hot; stops at START_BEATS
  logic [GROUPS:0] straddles_q;  // the beat for the rest of an ICRC comes next
  logic [GROUPS:0] ens, accepts;
  logic straddle_q, accept, en;

  // By lane: what counts as a zero, what as ones, and what of the seed is added.
  logic [KeepW-1:0] zero, ones;
  logic [KeepW-1:0][7:0] seed;

  always_comb begin
    zero = '0;
    ones = '0;
    seed = '0;
    for (int unsigned b = 0; b < START_BEATS; b++) begin
      for (int unsigned tag = 0; tag < 2; tag++) begin
        for (int unsigned k = 0; k < KeepW; k++) begin
          if (at_q[8*k/GROUP_W][b] && s_axis_tuser.has_vlan == 1'(tag)) begin
            if (ip_offset(b, k, tag) < 0) zero[k] = 1'b1;
            else if (is_variant(ip_offset(b, k, tag))) ones[k] = 1'b1;
            if (ip_offset(b, k, tag) inside {[0 : 3]}) seed[k] |= SEED[8*(ip_offset(b, k, tag)%4)+:8];
          end
        end
      end
    end
    for (int unsigned k = 0; k < KeepW; k++) begin
      counted[8*k+:8] = ((s_axis_tdata[8*k+:8] | {8{ones[k]}}) & ~{8{zero[k]}}) ^ seed[k];
    end
  end

  // The word, 2 bytes behind a multiple of 4, that the ICRC takes: the only one where tkeep ends.
  logic [WORD_W-1:0] word;
  always_comb begin
    word = '0;
    for (int unsigned w = 0; w < WORDS; w++) if (s_axis_tkeep[4*w+1] && !s_axis_tkeep[4*w+2]) word = WORD_W'(w);
  end

  assign en = ens[GROUPS];
  assign straddle_q = straddles_q[GROUPS];
  assign s_axis_tready = en && !straddle_q;
  assign accepts = ens & ~straddles_q & {(GROUPS + 1) {s_axis_tvalid}};
  assign accept = accepts[GROUPS];

  for (genvar g = 0; g <= GROUPS; g++) begin : gen_control
    always_ff @(posedge clk) begin
      if (ens[g]) straddles_q[g] <= accepts[g] && s_axis_tlast && word == '1;
      if (accepts[g]) at_q[g] <= s_axis_tlast ? (START_BEATS + 1)'(1) : at_q[g][START_BEATS] ? at_q[g] : at_q[g] << 1;
      if (rst) begin
        straddles_q[g] <= 1'b0;
        at_q[g] <= (START_BEATS + 1)'(1);
      end
    end
  end

  // Stage 1: the beat's own part of the CRC.
  typedef struct packed {
    logic valid;
    logic             end_of_data;  // the packet's last byte before the ICRC is in this beat
    logic             straddle;     // this beat holds only the second half of the ICRC
    logic             poisoned;
    logic [WORD_W-1:0] word;
  } beat_t;
  beat_t beat1_q, beat2_q;
  logic [DataW-1:0] data1_q, data2_q;
  logic first1_q;
  crc_t part_q;

  always_ff @(posedge clk) begin
    if (en) begin
      beat1_q.valid <= accept || straddle_q;
      first1_q <= at_q[GROUPS][0];
      beat1_q.end_of_data <= !straddle_q && s_axis_tlast;
      beat1_q.straddle <= straddle_q;
      if (!straddle_q) beat1_q.poisoned <= s_axis_tuser.poisoned;
      beat1_q.word <= straddle_q ? '1 : word;
      for (int unsigned r = 0; r < 32; r++) part_q[r] <= ^(DATA_ROWS[r] & counted);
    end
    if (rst) beat1_q.valid <= 1'b0;
  end

  // Stage 2: the running CRC; with the last beat, the first part of taking back the zeros that fill it. It has 4u + 2 of them,
  // u the words behind the ICRC's: the complement of the ICRC's own index.
  crc_t state, state_q, ending, ending_q;

  always_comb begin
    for (int unsigned r = 0; r < 32; r++) state[r] = part_q[r] ^ (first1_q ? 1'b0 : ^(DATA_ROWS[r][31:0] & state_q));
  end

  if (LOW_W > 0) begin : gen_low
    logic [LOW_W-1:0] low;
    assign low = ~beat1_q.word[LOW_W-1:0];
    always_comb begin
      ending = '0;
      for (int unsigned u = 0; u < 1 << LOW_W; u++) begin
        if (low == LOW_W'(u)) ending = multiply(LOW_BACK[u], state);
      end
    end
  end else begin : gen_no_low
    assign ending = state;
  end

  always_ff @(posedge clk) begin
    if (en) begin
      beat2_q <= beat1_q;
      if (beat1_q.valid && !beat1_q.straddle) state_q <= state;
      if (beat1_q.valid && beat1_q.end_of_data) ending_q <= ending;
    end
    if (rst) beat2_q.valid <= 1'b0;
  end

  // Stage 3: the rest of it, and the ICRC in its place.
  crc_t crc;
  logic [DataW-1:0] data;
  logic [KeepW-1:0] keep;
  logic last;

  if (HIGH_W > 0) begin : gen_high
    logic [HIGH_W-1:0] high;
    assign high = ~beat2_q.word[WORD_W-1:LOW_W];
    always_comb begin
      crc = '0;
      for (int unsigned u = 0; u < 1 << HIGH_W; u++) begin
        if (high == HIGH_W'(u)) crc = multiply(HIGH_BACK[u], ending_q) ^ {32{!beat2_q.poisoned}};
      end
    end
  end else begin : gen_no_high
    assign crc = ending_q ^ {32{!beat2_q.poisoned}};
  end

  always_comb begin
    data = data2_q;
    keep = '1;
    if (beat2_q.straddle) begin
      data[15:0] = crc[31:16];
      keep = KeepW'(2'b11);
    end else if (beat2_q.end_of_data) begin
      for (int unsigned w = 0; w < WORDS - 1; w++) begin
        if (beat2_q.word == WORD_W'(w)) begin
          data[32*w+16+:32] = crc;
          keep = ~(~KeepW'(0) << (4 * w + 6));
        end
      end
      if (beat2_q.word == '1) data[DataW-16+:16] = crc[15:0];
    end
  end
  assign last = beat2_q.straddle || (beat2_q.end_of_data && beat2_q.word != '1);

  axis_reg #(
      .DataW (KeepW + 1),
      .GroupW(KeepW + 1)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({last, keep}),
      .s_axis_tvalid(beat2_q.valid),
      .s_axis_tready(ens[GROUPS]),
      .m_axis_tdata ({m_axis_tlast, m_axis_tkeep}),
      .m_axis_tvalid,
      .m_axis_tready
  );

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GROUP_W;
    logic unused_valid;

    always_ff @(posedge clk) begin
      if (ens[g]) begin
        data1_q[AT+:GROUP_W] <= straddles_q[g] ? '0 : s_axis_tdata[AT+:GROUP_W];
        data2_q[AT+:GROUP_W] <= data1_q[AT+:GROUP_W];
      end
    end

    axis_reg #(
        .DataW (GROUP_W),
        .GroupW(GROUP_W)
    ) u_lanes (
        .clk,
        .rst,
        .s_axis_tdata (data[AT+:GROUP_W]),
        .s_axis_tvalid(beat2_q.valid),
        .s_axis_tready(ens[g]),
        .m_axis_tdata (m_axis_tdata[AT+:GROUP_W]),
        .m_axis_tvalid(unused_valid),
        .m_axis_tready
    );
  end

endmodule
