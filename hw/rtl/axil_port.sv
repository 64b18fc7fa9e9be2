// An AXI4-Lite port for the generated registers: one access at a time, reads and writes in turn where both wait.
// Every access is answered with OKAY. Requests leave from registers, so that no long path begins in the bus.
module axil_port #(
    parameter int unsigned AddrW = 16
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite
    input  logic [AddrW-1:0] s_axil_awaddr,
    input  logic [      2:0] s_axil_awprot,
    input  logic             s_axil_awvalid,
    output logic             s_axil_awready,
    input  logic [     31:0] s_axil_wdata,
    input  logic [      3:0] s_axil_wstrb,
    input  logic             s_axil_wvalid,
    output logic             s_axil_wready,
    output logic [      1:0] s_axil_bresp,
    output logic             s_axil_bvalid,
    input  logic             s_axil_bready,
    input  logic [AddrW-1:0] s_axil_araddr,
    input  logic [      2:0] s_axil_arprot,
    input  logic             s_axil_arvalid,
    output logic             s_axil_arready,
    output logic [     31:0] s_axil_rdata,
    output logic [      1:0] s_axil_rresp,
    output logic             s_axil_rvalid,
    input  logic             s_axil_rready,

    // The registers: a request for one cycle, answered in that cycle or later
    output logic             req_o,
    output logic             write_o,
    output logic [AddrW-1:0] addr_o,
    output logic [     31:0] data_o,
    output logic [     31:0] mask_o,   // bits that are written
    input  logic             ack_i,
    input  logic [     31:0] data_i
);

  typedef enum logic [1:0] {
    IDLE,     // until a read, or both halves of a write, have come
    REQUEST,
    WAIT,     // for the answer
    RESPOND   // until it is taken
  } state_e;

  state_e state_q, state_d;
  logic aw_valid_q, w_valid_q, ar_valid_q, write_q, begin_write, begin_read;
  logic [AddrW-1:0] aw_addr_q, ar_addr_q, addr_q;
  logic [31:0] w_data_q, read_data_q;
  logic [3:0] w_strb_q;

  // One of each channel waits here.
  assign s_axil_awready = !aw_valid_q;
  assign s_axil_wready = !w_valid_q;
  assign s_axil_arready = !ar_valid_q;
  assign begin_write = state_q == IDLE && aw_valid_q && w_valid_q && !(ar_valid_q && write_q);
  assign begin_read = state_q == IDLE && ar_valid_q && !begin_write;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: if (begin_write || begin_read) state_d = REQUEST;
      REQUEST: state_d = ack_i ? RESPOND : WAIT;
      WAIT: if (ack_i) state_d = RESPOND;
      RESPOND: if (write_q ? s_axil_bready : s_axil_rready) state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    if (s_axil_awready) aw_addr_q <= s_axil_awaddr;
    if (s_axil_arready) ar_addr_q <= s_axil_araddr;
    if (s_axil_wready) begin
      w_data_q <= s_axil_wdata;
      w_strb_q <= s_axil_wstrb;
    end
    aw_valid_q <= s_axil_awready ? s_axil_awvalid : !begin_write;
    w_valid_q  <= s_axil_wready ? s_axil_wvalid : !begin_write;
    ar_valid_q <= s_axil_arready ? s_axil_arvalid : !begin_read;
    if (state_q == IDLE) begin
      addr_q <= begin_write ? aw_addr_q : ar_addr_q;
      data_o <= w_data_q;
      for (int unsigned lane = 0; lane < 4; lane++) mask_o[8*lane+:8] <= {8{w_strb_q[lane]}};
    end
    if (begin_write || begin_read) write_q <= begin_write;
    if (ack_i) read_data_q <= data_i;
    if (rst) begin
      state_q <= IDLE;
      aw_valid_q <= 1'b0;
      w_valid_q <= 1'b0;
      ar_valid_q <= 1'b0;
      write_q <= 1'b0;
    end
  end

  assign req_o = state_q == REQUEST;
  assign write_o = write_q;
  assign addr_o = {addr_q[AddrW-1:2], 2'b0};
  assign s_axil_bvalid = state_q == RESPOND && write_q;
  assign s_axil_rvalid = state_q == RESPOND && !write_q;
  assign s_axil_rdata = read_data_q;
  assign s_axil_bresp = '0;
  assign s_axil_rresp = '0;

  logic unused;
  assign unused = ^{s_axil_awprot, s_axil_arprot, addr_q[1:0]};

endmodule
