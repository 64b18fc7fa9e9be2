// Words of an SDR SDRAM of 32 bits: the chip's initialisation, its refresh, its rows, and a word a cycle in an open one. One row is
// open at a time, in one bank. There are no byte masks: boards tie DQM to ground.
//
// The counts of cycles hold for M12L16161A-7, M12L64322A-7, W9816G6JH-7 and faster grades at 62.5 MHz.
module sdram_control
  import sdram_pkg::*;
#(
    parameter int unsigned BankW   = 1,
    parameter int unsigned Refresh = 960,  // cycles from one refresh to the next, 15.36 us: 15.625 is the chips' most

    localparam int unsigned WordW = BankW + ROW_W + COLUMN_W
) (
    input logic clk,
    input logic rst,

    // Reads and writes, done in order: row, bank, column
    input  logic [ WordW-1:0] address_i,
    input  logic              write_i,
    input  logic [DATA_W-1:0] data_i,
    input  logic [       1:0] tag_i,
    input  logic              valid_i,
    output logic              ready_o,

    // What was read, each with the tag of its request
    output logic [1:0] read_tag_o,
    output logic       read_valid_o,

    input logic [1:0] delay_i,  // cycles by which what was read is later than with the cells' models

    output logic        ready_for_use_o,  // initialised
    output sdram_pins_t pins_o
);

  // Cycles behind a command in which there is none but reads and writes of the open row
  localparam int unsigned AFTER_ACTIVE = 2;  // tRCD 20 ns, tRAS 45 ns
  localparam int unsigned AFTER_PRECHARGE = 1;  // tRP 20 ns
  localparam int unsigned AFTER_REFRESH = 4;  // tRC 65 ns
  localparam int unsigned AFTER_MODE = 2;  // tRSC 2 cycles
  localparam int unsigned AFTER_WRITE = 4;  // tWR 2 cycles, and until the data's drivers are off
  localparam int unsigned WAIT_W = 3;

  localparam int unsigned REFRESH_W = $clog2(Refresh);
  localparam int unsigned READ_CYCLES = 5;  // from a request to its data: a register, cells at the pins, CAS latency

  // Periods of the refresh after a reset: 16 of nothing, as the chip wants 200 us, then 8 refreshes
  localparam logic [4:0] QUIET = 5'd16;
  localparam logic [4:0] REFRESHED = 5'd24;
  localparam logic [4:0] IN_USE = 5'd25;

  if (BankW < 1 || BankW > 2 || Refresh < 64) begin : gen_check
    $error("%m: BankW = %0d must be 1 or 2, and Refresh = %0d at least 64", BankW, Refresh);
  end

  typedef struct packed {
    logic [ROW_W-1:0] row;
    logic [BankW-1:0] bank;
  } place_t;

  place_t open_q, asked;
  logic [COLUMN_W-1:0] column;
  logic [REFRESH_W-1:0] refresh_q;
  logic [WAIT_W-1:0] wait_q;
  logic [4:0] start_q;
  logic due_q, is_open_q, drive_q, hit, under_way, write, read;
  logic [READ_CYCLES+3:1] reads_q;
  logic [READ_CYCLES+3:1][1:0] tags_q;
  command_e command;
  logic [3:0] at;

  assign {asked, column} = address_i;
  assign hit = is_open_q && asked == open_q;
  assign under_way = reads_q != '0;

  // The command of this cycle
  always_comb begin
    command = NOP;
    if (wait_q != '0) command = NOP;
    else if (due_q && start_q >= QUIET) command = is_open_q ? PRECHARGE : REFRESH;
    else if (start_q == REFRESHED) command = MODE;
    else if (start_q == IN_USE && valid_i) begin
      if (!is_open_q) command = ACTIVE;
      else if (!hit) command = PRECHARGE;
      else if (!write_i) command = READ;
      else if (drive_q && !under_way) command = WRITE;  // the data's drivers are on since the last cycle
    end
  end

  assign write = command == WRITE;
  assign read = command == READ;
  assign ready_o = write || read;

  always_ff @(posedge clk) begin
    refresh_q <= refresh_q == '0 ? REFRESH_W'(Refresh - 1) : refresh_q - 1'b1;
    if (refresh_q == '0) due_q <= 1'b1;
    if (wait_q != '0) wait_q <= wait_q - 1'b1;
    drive_q <= (valid_i && write_i && hit && !under_way) || (drive_q && wait_q > WAIT_W'(1));

    unique case (command)
      ACTIVE: begin
        wait_q <= WAIT_W'(AFTER_ACTIVE);
        is_open_q <= 1'b1;
        open_q <= asked;
      end
      PRECHARGE: begin
        wait_q <= WAIT_W'(AFTER_PRECHARGE);
        is_open_q <= 1'b0;
      end
      REFRESH: begin
        wait_q <= WAIT_W'(AFTER_REFRESH);
        due_q  <= 1'b0;
        if (start_q < REFRESHED) start_q <= start_q + 1'b1;
      end
      MODE: begin
        wait_q  <= WAIT_W'(AFTER_MODE);
        start_q <= IN_USE;
      end
      WRITE: begin
        wait_q  <= WAIT_W'(AFTER_WRITE);
        drive_q <= 1'b1;
      end
      default: begin
        if (due_q && start_q < QUIET) begin
          start_q <= start_q + 1'b1;
          due_q   <= 1'b0;
        end
      end
    endcase

    reads_q <= {reads_q[READ_CYCLES+2:1], read};
    tags_q <= {tags_q[READ_CYCLES+2:1], tag_i};

    pins_o.command <= command;
    pins_o.bank <= command == MODE ? '0 : 2'(asked.bank);
    pins_o.address <= command == MODE ? MODE_WORD : command == ACTIVE ? asked.row : ROW_W'(column);
    if (command == PRECHARGE) pins_o.address[ALL_BANKS] <= 1'b1;
    pins_o.data  <= data_i;
    pins_o.drive <= drive_q;

    if (rst) begin
      refresh_q <= REFRESH_W'(Refresh - 1);
      wait_q <= '0;
      start_q <= '0;
      due_q <= 1'b0;
      is_open_q <= 1'b1;  // nobody knows: the first refresh precharges
      drive_q <= 1'b0;
      reads_q <= '0;
      pins_o.command <= NOP;
      pins_o.drive <= 1'b0;
    end
  end

  assign at = 4'(READ_CYCLES) + 4'(delay_i);
  assign read_valid_o = reads_q[at];
  assign read_tag_o = tags_q[at];
  assign ready_for_use_o = start_q == IN_USE;

endmodule
